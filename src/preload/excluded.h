/* Programs that are not recorded (MPIT_EXCLUDE): no recorder is loaded into them. */
#ifndef MPIT_PRELOAD_EXCLUDED_H
#define MPIT_PRELOAD_EXCLUDED_H

#include <stdbool.h>

/* True if this program is in the list: patterns of the shell, with commas or blanks between them. A pattern with a / is
 * for the whole path, another one for the file's name. */
bool program_is_excluded(void);

#endif
