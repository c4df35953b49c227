#include "site/setting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define SITE_FILE "/etc/mpit.conf"
enum { SITE_LINES_MOST = 128, SITE_BYTES_MOST = 32 << 10 };

static struct site {
    char file[PATH_MAX];
    int unread; /* an errno: there is such a file, or the environment names it */
    int cut;    /* the line from which on there was no room. 0: all fit */
    size_t count;
    struct {
        char variable[SETTING_NAME_BYTES]; /* "": the line has another form */
        const char *name, *value;          /* as they are written */
        int line;
    } lines[SITE_LINES_MOST];
    char text[SITE_BYTES_MOST + 1];
} * site; /* made once, and kept */

static char *trimmed(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Writes MPIT_NAME. Returns false if that is no name of a variable. */
static bool variable_write(char variable[SETTING_NAME_BYTES], const char *name)
{
    size_t used = (size_t)snprintf(variable, SETTING_NAME_BYTES, "MPIT_");
    for (; *name && used < SETTING_NAME_BYTES - 1; name++) {
        bool small = *name >= 'a' && *name <= 'z'; /* the program's locale may have other letters */
        if (!small && *name != '_' && !(*name >= 'A' && *name <= 'Z') && !(*name >= '0' && *name <= '9'))
            return false;
        variable[used++] = (char)(small ? *name - 'a' + 'A' : *name);
    }
    variable[used] = '\0';
    return !*name && used > 5;
}

/* whole: no NUL byte is in the line. Else it has no effect, and that is told. */
static void line_read(struct site *to, char *text, int number, bool whole)
{
    text = trimmed(text);
    if (to->cut || (whole && !*text) || *text == '#')
        return;
    if (to->count == SITE_LINES_MOST) {
        to->cut = number;
        return;
    }
    char *equals = strchr(text, '='), variable[SETTING_NAME_BYTES];
    if (equals)
        *equals = '\0';
    text = trimmed(text);
    bool good = equals && whole && variable_write(variable, text);
    snprintf(to->lines[to->count].variable, SETTING_NAME_BYTES, "%s", good ? variable : "");
    to->lines[to->count].name = text;
    to->lines[to->count].value = good ? trimmed(equals + 1) : "";
    to->lines[to->count++].line = number;
}

/* Reads the file, if there is one. A program with another user's rights opens no file that the environment names. */
static void site_read(struct site *to)
{
    const char *own = getauxval(AT_SECURE) ? "" : getenv("MPIT_CONF"), *path = own ? own : SITE_FILE;
    int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    size_t used = 0;
    ssize_t bytes = 0;
    to->unread = *path && fd < 0 && (own || errno != ENOENT) ? errno : 0;
    if (fd >= 0 || to->unread)
        snprintf(to->file, sizeof to->file, "%s", path);
    if (fd < 0)
        return;
    while (used < SITE_BYTES_MOST && (bytes = read(fd, to->text + used, SITE_BYTES_MOST - used)) > 0)
        used += (size_t)bytes;
    close(fd);
    int number = 0;
    for (char *at = to->text, *end = at + used, *next; at; at = next) {
        char *last = memchr(at, '\n', (size_t)(end - at));
        next = last ? last + 1 : NULL;
        *(last ? last : end) = '\0';
        number++;
        if (!next && used == SITE_BYTES_MOST && !to->cut)
            to->cut = number;
        line_read(to, at, number, strlen(at) == (size_t)((last ? last : end) - at));
    }
}

/* Two threads may read at once. The first one to be ready counts. */
static const struct site *site_settings(void)
{
    struct site *known = __atomic_load_n(&site, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    int error = errno;
    struct site *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made != MAP_FAILED)
        site_read(made);
    if (made != MAP_FAILED &&
        !__atomic_compare_exchange_n(&site, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        munmap(made, sizeof *made);
    errno = error;
    return __atomic_load_n(&site, __ATOMIC_ACQUIRE);
}

/* Returns the value of the last line for it, and the number of this line. */
static const char *site_value(const char *variable, int *line)
{
    const struct site *from = site_settings();
    for (size_t i = from ? from->count : 0; i-- > 0;)
        if (strcmp(from->lines[i].variable, variable) == 0) {
            *line = from->lines[i].line;
            return *from->lines[i].value ? from->lines[i].value : NULL;
        }
    return NULL;
}

const char *setting(const char *variable)
{
    const char *own = getenv(variable);
    int line;
    return own ? own : site_value(variable, &line);
}

/* True for a word that switches nothing on. What follows a blank is not of it. */
static bool means_no(const char *value)
{
    static const char *const words[] = {"0", "no", "off", "false"};
    size_t length = strcspn(value, " \t#");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], value, length) == 0)
            return true;
    return false;
}

bool setting_disabled(void)
{
    int line;
    const char *own = getenv("MPIT_DISABLE"), *site_has = own ? NULL : site_value("MPIT_DISABLE", &line);
    return own || (site_has && !means_no(site_has));
}

int setting_cut(void)
{
    const struct site *from = site_settings();
    return from ? from->cut : 0;
}

bool setting_is_of_site(const char *variable)
{
    int line;
    return !getenv(variable) && site_value(variable, &line);
}

const char *setting_place(const char *variable, char place[SETTING_PLACE_BYTES])
{
    int line;
    place[0] = '\0';
    if (!getenv(variable) && site_value(variable, &line))
        snprintf(place, SETTING_PLACE_BYTES, "%.200s:%d: ", setting_file(), line);
    return place;
}

int setting_unread(void)
{
    const struct site *from = site_settings();
    return from ? from->unread : 0;
}

const char *setting_file(void)
{
    const struct site *from = site_settings();
    return from ? from->file : "";
}

bool setting_line(size_t i, const char **variable, const char **name, int *line)
{
    const struct site *from = site_settings();
    if (!from || i >= from->count)
        return false;
    *variable = from->lines[i].variable[0] ? from->lines[i].variable : NULL;
    *name = from->lines[i].name;
    *line = from->lines[i].line;
    return true;
}

bool setting_mode(unsigned *mode, bool *wrong)
{
    const char *text = setting("MPIT_MODE");
    const char *digit = text ? text : "";
    unsigned value = 0;
    for (; *digit >= '0' && *digit <= '7' && value <= 0777; digit++) /* strtoul is new in glibc 2.38 */
        value = value * 8 + (unsigned)(*digit - '0');
    bool good = !*digit && value <= 0777 && (value & 0602) == 0600;
    *wrong = text && *text && !good;
    *mode = good ? value : 0600;
    return good;
}
