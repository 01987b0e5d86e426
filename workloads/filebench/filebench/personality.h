// SPDX-License-Identifier: MIT
/* Reads a personality into the model. */
#ifndef FILEBENCH_PERSONALITY_H
#define FILEBENCH_PERSONALITY_H

/* Gives a variable another value than the script's: NAME=VALUE, the value of the option NAME. */
void give_variable(const char *option, const char *text);

/*
 * Reads the personality: a file of share/ beside this program, or with a slash
 * a path.  Its $dir becomes DIRECTORY.
 */
void read_personality(const char *name, const char *directory);

#endif
