/*
 * Texts that the site does not want in results, MPIT_HIDE. The recorder hides them before it writes them, so no file and
 * no other process has them. A hidden text becomes #HASH: equal texts stay equal. MPIT_HIDE_KEY is the key of the hashes.
 *
 * Not thread-safe: hide_read. All others are async-signal-safe.
 */
#ifndef MPIT_SITE_HIDE_H
#define MPIT_SITE_HIDE_H

#include <stdbool.h>
#include <stddef.h>

#define HIDE_WORDS(X)                                                                                                  \
    X(USER, user)                   /* name and number */                                                              \
    X(ARGUMENTS, arguments)         /* of the program: not kept */                                                     \
    X(DIRECTORY, directory)         /* the working directory */                                                        \
    X(PROGRAM, program)             /* its path, and the names of its libraries and threads */                         \
    X(FUNCTIONS, functions)         /* not kept: a place in the program is an address in a module */                   \
    X(COMMUNICATORS, communicators) /* names that the program gives to communicators and windows */                    \
    X(FILES, files)                 /* that it opens or deletes with MPI */                                            \
    X(REGIONS, regions)             /* its phases and regions, and variables of its libraries */

enum hide_word {
#define HIDE_ENUM(id, word) HIDE_PLACE_##id,
    HIDE_WORDS(HIDE_ENUM)
#undef HIDE_ENUM
};

enum hide {
#define HIDE_ENUM(id, word) HIDE_##id = 1 << HIDE_PLACE_##id,
    HIDE_WORDS(HIDE_ENUM)
#undef HIDE_ENUM
};

enum { HIDE_HASH_BYTES = 18, HIDE_MODULE_BYTES = 256, HIDE_PROBLEM_BYTES = 256 };

/* Reads the settings. Until then nothing is hidden. */
void hide_read(void);

/* Returns false and the reason if MPIT_HIDE has an unknown word. Then everything is hidden. */
bool hide_is_known(char problem[HIDE_PROBLEM_BYTES]);

/* True if one of these is hidden. */
bool hides(unsigned any);

/* Writes the hash of a text to `to`, which may be the text itself. The hash of "" is "". It is cut if there is no room. */
void hide_text(char *to, size_t bytes, const char *text);

/* The same for its folder and its name: "#HASH/#HASH". So programs of one name in several folders have one hash. */
void hide_path(char *to, size_t bytes, const char *path);

/* Returns the path of a loaded object ("": the program) as it may be written. Without a path, no tool finds the names of its
 * functions. Libraries of the system, of MPI and of mpit keep their paths. `room` may be what is returned. */
const char *hide_module(const char *path, const char *program, char room[HIDE_MODULE_BYTES]);

#endif
