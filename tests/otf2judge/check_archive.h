/* Checks one OTF2 archive within this process. The OTF2 library may end the process if files are damaged (check.h).
 */
#ifndef MPIT_TESTS_CHECK_ARCHIVE_H
#define MPIT_TESTS_CHECK_ARCHIVE_H

/* `anchor` is the path of the .otf2 file. The caller must set check_listener first. Afterwards check_figures holds the
 * figures. */
void check_archive(const char *anchor);

#endif
