#include "jobfile/resultfolder.h"

#include "site/setting.h"
#include "writer/run.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL_USERS = S_ISVTX | S_IWOTH };

void result_share(int fd)
{
    static bool told;
    char place[SETTING_PLACE_BYTES];
    struct stat st;
    unsigned mode;
    bool wrong, wanted = setting_mode(&mode, &wrong);
    const char *name = setting("MPIT_GROUP");
    const struct group *group = name && *name ? getgrnam(name) : NULL;
    if (wrong && !told)
        warnx("%sMPIT_MODE=%.20s cannot be used: allowed are octal numbers such as 0640, and no write access for all; "
              "only the user has access",
              setting_place("MPIT_MODE", place), setting("MPIT_MODE"));
    if (name && *name && (!group || fchown(fd, (uid_t)-1, group->gr_gid) != 0) && !told)
        warnx("%sresults do not get the group %.60s: %s", setting_place("MPIT_GROUP", place), name,
              group ? strerror(errno) : "there is none of this name");
    told = told || wrong || (name && *name);
    if (!wanted || fstat(fd, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode)) /* who may read a folder may enter it */
        mode |= (mode & 0444) >> 2 | (st.st_mode & S_ISGID);
    fchmod(fd, mode);
}

bool result_is_of_site(const char *path)
{
    const char *pattern = setting_is_of_site("MPIT_OUTPUT") ? setting("MPIT_OUTPUT") : "";
    size_t plain = strcspn(pattern, "%");
    return pattern[plain] && strncmp(path, pattern, plain) == 0;
}

/* Returns the folder, if this user owns it. The owner of the folder above may have put a link in its place. Else -1. */
static int own_open(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, st) == 0 && st->st_uid == geteuid()))
        return fd;
    close(fd);
    return -1;
}

/* Of a folder that was made just now: what all users may do in the one above, they may do in it. */
static void folder_open(char *path, bool last)
{
    struct stat above, st;
    int fd = own_open(path, &st);
    char *slash = strrchr(path, '/');
    if (fd < 0)
        return;
    if (last) {
        result_share(fd);
    } else if (slash != path && result_is_of_site(path)) {
        *slash = '\0';
        bool shared = stat(path, &above) == 0 && (above.st_mode & ALL_USERS) == ALL_USERS;
        *slash = '/';
        mode_t mode = (above.st_mode & 01777) | (st.st_mode & S_ISGID);
        if (shared && (st.st_mode & 07777) != mode)
            fchmod(fd, mode);
    }
    close(fd);
}

/* The owner of a folder can take away what is in it, with the sticky bit, too. */
int result_folder_make(const char *folder)
{
    struct stat link, st;
    int error = run_directory_make(folder, folder_open);
    if (error)
        return error;
    if (lstat(folder, &link) != 0)
        return errno;
    st = link;
    if (S_ISLNK(link.st_mode) && stat(folder, &st) != 0)
        return errno;
    bool foreign = (link.st_uid && link.st_uid != geteuid()) || (st.st_uid && st.st_uid != geteuid());
    return foreign && (geteuid() || result_is_of_site(folder)) ? EPERM : 0;
}
