/*
 * What users are called, where their files are told.
 */
#ifndef MPIT_TOOLS_USERNAME_H
#define MPIT_TOOLS_USERNAME_H

#include <sys/types.h>

enum { USER_BYTES = 64 };

/* The number where there is no name. */
void user_name(char name[USER_BYTES], uid_t user);

#endif
