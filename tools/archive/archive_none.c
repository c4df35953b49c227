/* In place of all that calls OTF2, where it is missing. The tools refuse the options before they come here. */
#include "archive/archive.h"

#include <stdio.h>

int archive_target_check(const char *target, char error[512])
{
    snprintf(error, 512, "%s cannot be written: mpit was built without OTF2 (libotf2-trace-dev)", target);
    return -1;
}

int archive_write(const struct run_dir *dir, const char *target, const struct otf2_manner *manner, char error[512])
{
    (void)dir, (void)manner;
    return archive_target_check(target, error);
}
