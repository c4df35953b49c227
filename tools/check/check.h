/*
 * mpit-dump --check: judges an OTF2 archive of whomever by the rules of check_rules.h.
 *
 *   parent: prints <──── pipe ──── child: check_archive, with the OTF2 library
 *
 * In a process of its own, because the library aborts, or goes astray, on some damaged files; what was found until then
 * is told all the same.
 */
#ifndef MPIT_TOOLS_CHECK_H
#define MPIT_TOOLS_CHECK_H

#include <stdbool.h>

/*
 * `path`: the directory of the archive, its anchor, or a run directory with an archive in otf2/; or of the archives of
 * several jobs, a directory each. Prints what is found, and the verdict, to stdout. Returns 0: sound (there may be
 * warnings), 1: there are errors, 2: it cannot be read; of several that of the worst.
 */
int check_run(const char *path, bool json);

#endif
