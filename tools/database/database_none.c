/* mpit-dump without SQLite. Its command line refuses --sqlite. */
#include "database/database_write.h"

#include <stdio.h>

int database_write(const struct run_dir *dir, const char *path, char error[OUTPUT_ERROR_BYTES])
{
    (void)dir;
    snprintf(error, OUTPUT_ERROR_BYTES, "%.300s: this tool was built without SQLite (libsqlite3-dev)", path);
    return -1;
}
