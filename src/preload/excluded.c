#include "excluded.h"

#include "site/setting.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool program_is_excluded(void)
{
    const char *list = setting("MPIT_EXCLUDE");
    char path[PATH_MAX], pattern[PATH_MAX];
    ssize_t bytes = list && *list ? readlink("/proc/self/exe", path, sizeof path - 1) : -1;
    if (bytes <= 0)
        return false;
    path[bytes] = '\0';
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t length; *list; list += length) {
        list += strspn(list, ", \t");
        length = strcspn(list, ", \t");
        if (length && snprintf(pattern, sizeof pattern, "%.*s", (int)length, list) < (int)sizeof pattern &&
            fnmatch(pattern, strchr(pattern, '/') ? path : name, 0) == 0)
            return true;
    }
    return false;
}
