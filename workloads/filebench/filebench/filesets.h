// SPDX-License-Identifier: MIT
/* Files and directories of a personality: their layout, their contents, phase create, and the check at the end. */
#ifndef FILEBENCH_FILESETS_H
#define FILEBENCH_FILESETS_H

#include <limits.h>

#include "model.h"

/* Phase create: lays the filesets out in memory, and makes what is to be there before the run. */
void create_filesets(uint64_t seed);

/* Compares the file system with what was done; returns the number of files. */
uint64_t verify_filesets(void);

/* ---- for the run; where several threads work, under a lock of theirs ---- */

bool is_present(const struct entries *entries, uint32_t index);
void set_present(struct entries *entries, uint32_t index, bool present);

/* The first that does, or does not, exist, from index on and round; there is one. */
uint32_t find_entry(const struct entries *entries, uint32_t index, bool present);

void entry_path(const struct fileset *fileset, const struct entry *entry, char path[PATH_MAX]);

/* Makes the directory of an entry and those above it; of use where nothing was preallocated. */
void make_parents(struct fileset *fileset, uint32_t number);

/* Writes what belongs at that offset of every file. PATH is for the message. */
void write_at(int fd, uint64_t offset, uint64_t bytes, const char *path);

#endif
