/*
 * otf2judge: checks an OTF2 archive of any tool by the rules of check_rules.h.
 *
 *   parent: prints <──── pipe ──── child: check_archive, with the OTF2 library
 *
 * It runs in a separate process, because the library aborts or misbehaves on some damaged files. Findings until then
 * are reported nevertheless.
 */
#ifndef MPIT_TESTS_CHECK_H
#define MPIT_TESTS_CHECK_H

#include <stdbool.h>

/*
 * `path` is the directory of the archive, its anchor, or a run directory with an archive in otf2/. It may also contain
 * the archives of several jobs, one directory each. Prints the findings and the verdict to stdout. Returns 0 if the
 * archive is sound (there may be warnings), 1 if it has errors, and 2 if it cannot be read. For several archives it
 * returns the worst of these.
 */
int check_run(const char *path, bool json);

#endif
