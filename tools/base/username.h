/*
 * Names of users, for messages about their files.
 */
#ifndef MPIT_TOOLS_USERNAME_H
#define MPIT_TOOLS_USERNAME_H

#include <sys/types.h>

enum { USER_BYTES = 64 };

/* Writes the user's number if there is no name. */
void user_name(char name[USER_BYTES], uid_t user);

#endif
