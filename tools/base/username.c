#include "base/username.h"

#include "format/label.h"

#include <pwd.h>
#include <stdio.h>

void user_name(char name[USER_BYTES], uid_t user)
{
    const struct passwd *entry = getpwuid(user);
    snprintf(name, USER_BYTES, "%lu", (unsigned long)user);
    if (entry)
        label_clean(name, USER_BYTES, entry->pw_name, USER_BYTES);
}
