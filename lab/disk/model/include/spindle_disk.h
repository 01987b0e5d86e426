/* SPDX-License-Identifier: MIT */
/* Made by cbindgen from lab/disk/model/src/ffi.rs; `SPINDLE_BLESS=1 cargo test header` rewrites it. */

#ifndef SPINDLE_DISK_H
#define SPINDLE_DISK_H

#include <stddef.h>
#include <stdint.h>

/*
 Version of this interface; compare with `spindle_abi_version()`.
 */
#define SPINDLE_ABI_VERSION 3

/*
 Time of an event that never comes.
 */
#define SPINDLE_NEVER INT64_MAX

/*
 Status of a command that ended with an I/O error.
 */
#define SPINDLE_EIO -5

/*
 What a command does.
 */
enum SpindleOp {
  /*
   Read.
   */
  SPINDLE_READ = 0,
  /*
   Write, acknowledged from the buffer when the write cache is on.
   */
  SPINDLE_WRITE = 1,
  /*
   Completes when all data acknowledged before is on the medium.
   */
  SPINDLE_FLUSH = 2,
  /*
   Write that is acknowledged from the medium.
   */
  SPINDLE_WRITE_FUA = 3,
};

/*
 One lab: the units and buses of one topology file.
 */
struct SpindleLab;

/*
 A command that is done.
 */
struct SpindleCompletion {
  /*
   What `spindle_submit` was given.
   */
  uint64_t cookie;
  /*
   Unit number.
   */
  uint32_t unit;
  /*
   0: all went well; `SPINDLE_EIO`: an I/O error, as the drive has failed.
   */
  int32_t status;
  /*
   Virtual time of the acknowledgement, ns.
   */
  int64_t acknowledged_ns;
  /*
   How many completions of the lab came before it.
   */
  uint64_t ordinal;
};

/*
 A part of an acknowledged write that a power cut took.
 */
struct SpindleLost {
  /*
   Number of the write's completion.
   */
  uint64_t ordinal;
  /*
   First lost sector.
   */
  uint64_t lbn;
  /*
   Lost sectors.
   */
  uint64_t sectors;
  /*
   Unit number.
   */
  uint32_t unit;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Version of the interface that the library was built with.
 */
uint32_t spindle_abi_version(void);

/*
 Opens the lab that the topology file describes, at time 0. Returns 0 and sets `lab`, or -1
 and a message: a file that cannot be read, an unknown key or name, an impossible drive.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_lab_open(const char *topology_path,
                         struct SpindleLab **lab,
                         char *err,
                         uintptr_t err_len);

/*
 Frees a lab; NULL is allowed.

 # Safety
 `lab` comes from `spindle_lab_open` and is not used afterwards.
 */
void spindle_lab_close(struct SpindleLab *lab);

/*
 Number of the unit called `name`, or -1 and a message that lists the names.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_unit_find(const struct SpindleLab *lab,
                          const char *name,
                          char *err,
                          uintptr_t err_len);

/*
 Capacity of a unit in sectors; 0: a null unit, as large as its file (or no such unit).

 # Safety
 `lab` must be valid.
 */
uint64_t spindle_unit_sectors(const struct SpindleLab *lab, uint32_t unit);

/*
 Commands that can be outstanding at a unit (more wait before it); 0: no such unit.

 # Safety
 `lab` must be valid.
 */
uint32_t spindle_unit_max_tags(const struct SpindleLab *lab, uint32_t unit);

/*
 Sets `queue` (an algorithm that the drive offers) or `write-cache` (on, off) before the first
 command of the lab. Returns 0, or -1 and a message.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_unit_set(struct SpindleLab *lab,
                         uint32_t unit,
                         const char *key,
                         const char *value,
                         char *err,
                         uintptr_t err_len);

/*
 The marker: puts all drives into a stated state (arm at cylinder 0 and head 0, caches empty,
 spindle phases drawn from `seed`), writes `label` to the trace and returns 0 with a start
 delay of up to one revolution, or -1 and a message, as when the lab is not idle.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_lab_reset(struct SpindleLab *lab,
                          int64_t now_ns,
                          const char *label,
                          uint64_t seed,
                          int64_t *start_delay_ns,
                          char *err,
                          uintptr_t err_len);

/*
 Writes the comment line `# words now_ns ...` into the trace, behind the requests acknowledged up
 to `now_ns`. Returns 0, or -1 and a message: words that are not one line of printable ASCII, or
 time going back.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_lab_mark(struct SpindleLab *lab,
                         int64_t now_ns,
                         const char *words,
                         char *err,
                         uintptr_t err_len);

/*
 Commands of modelled units and arrays that were submitted and are not acknowledged; those of
 null units do not count.

 # Safety
 `lab` must be valid.
 */
uint64_t spindle_lab_outstanding(const struct SpindleLab *lab);

/*
 Hands a command (`op` is a `SpindleOp`) to a unit. Nothing completes inside this call. Returns
 0, or -1 and a message: unknown unit or operation, a range outside the drive, time going back.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_submit(struct SpindleLab *lab,
                       int64_t now_ns,
                       uint32_t unit,
                       uint32_t op,
                       uint64_t lbn,
                       uint64_t sectors,
                       uint64_t cookie,
                       char *err,
                       uintptr_t err_len);

/*
 When something happens next: arm one timer at it. `SPINDLE_NEVER`: nothing is pending.

 # Safety
 `lab` must be valid.
 */
int64_t spindle_next_event_ns(const struct SpindleLab *lab);

/*
 Lets time pass up to and including `now_ns`, which never goes back.

 # Safety
 `lab` must be valid.
 */
void spindle_advance(struct SpindleLab *lab, int64_t now_ns);

/*
 Takes the next completion: 1 and `out` is filled, or 0 when there is none.

 # Safety
 Pointers must be valid.
 */
int32_t spindle_completion(struct SpindleLab *lab, struct SpindleCompletion *out);

/*
 Number of the oldest completion whose data is not all on the medium; writes completed before it
 are safe from a power cut. `UINT64_MAX`: all are.

 # Safety
 `lab` must be valid.
 */
uint64_t spindle_oldest_volatile(const struct SpindleLab *lab);

/*
 Cuts the power of all drives at `now_ns`: nothing completes any more, and what was acknowledged
 from a buffer but is not on the medium is lost (`spindle_lost`). Take the completions up to
 `now_ns` before. Returns 0, or -1 and a message.

 # Safety
 Pointers must be valid; `err` has `err_len` bytes (or is NULL).
 */
int32_t spindle_power_cut(struct SpindleLab *lab, int64_t now_ns, char *err, uintptr_t err_len);

/*
 Takes the next lost part, newest write first: 1 and `out` is filled, or 0 when there is none.

 # Safety
 Pointers must be valid.
 */
int32_t spindle_lost(struct SpindleLab *lab, struct SpindleLost *out);

/*
 1: no command is outstanding and all data is on the medium; 0 otherwise.

 # Safety
 `lab` must be valid.
 */
int32_t spindle_lab_idle(const struct SpindleLab *lab);

/*
 Copies whole lines of the trace into `buf` and returns the bytes (no NUL follows); 0 when no
 more are final. Give at least 512 bytes, and call it now and then: unread lines stay in memory.

 # Safety
 `lab` must be valid, and `buf` have `len` bytes.
 */
uintptr_t spindle_trace_read(struct SpindleLab *lab, char *buf, uintptr_t len);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SPINDLE_DISK_H */
