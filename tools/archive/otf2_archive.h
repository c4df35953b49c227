/* The parts of writing an archive that do not depend on its contents. */
#ifndef MPIT_TOOLS_OTF2_ARCHIVE_H
#define MPIT_TOOLS_OTF2_ARCHIVE_H

#include "archive/otf2.h"

#include <otf2/otf2.h>
#include <stdarg.h>

/* For OTF2_Error_RegisterCallback: stores the reason of a failure in the report (`data`). */
OTF2_ErrorCode otf2_error_keep(void *data, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
                               const char *format, va_list args);

/* Returns NULL if it cannot be made. Before definitions are written, the caller must set the size of their chunks. */
OTF2_Archive *otf2_archive_open(const char *directory);
/* Sets its memory, its flushing, its locks. Returns 0, or -1 with the report's error set. */
int otf2_archive_prepare(OTF2_Archive *archive, struct otf2_report *report);

/* Gives a directory its final name, unless that name was created in the meantime. Returns -1 with errno. */
int otf2_directory_publish(const char *made, const char *directory);

#endif
