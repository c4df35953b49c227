/*
 * What holds of a structure between two calls of its functions. Its owner has `OBJECT_is_valid`. The functions assert it
 * where they begin, with the lock that protects the structure.
 *
 * Builds of type Debug check it, and so do the presets asan, tsan and fuzz. In other builds nothing of it is left. A
 * failure ends the process. So a check must hold whatever a program or a file does: it asks for no byte of a file.
 */
#ifndef MPIT_BASE_INVARIANT_H
#define MPIT_BASE_INVARIANT_H

#if defined(MPIT_CHECKED)
#include <assert.h>
#define MPIT_ASSERT(condition) assert(condition)
#else
#define MPIT_ASSERT(condition) ((void)(0 && (condition)))
#endif

#endif
