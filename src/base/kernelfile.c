#include "base/kernelfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

const char *kernel_file_read(char text[KERNEL_TEXT_BYTES], const char *directory, const char *name)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = n < (int)sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t bytes = fd < 0 ? -1 : read(fd, text, KERNEL_TEXT_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return text;
}

uint64_t kernel_text_number(const char *text, const char *key, uint64_t otherwise)
{
    char *end;
    const char *line = text;
    while (line && strncmp(line, key, strlen(key)) != 0)
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    uint64_t number = line ? strtoull(line + strlen(key), &end, 10) : 0;
    return line && end > line + strlen(key) ? number : otherwise;
}

uint64_t kernel_file_number(const char *directory, const char *name, const char *key, uint64_t otherwise)
{
    char text[KERNEL_TEXT_BYTES];
    return kernel_text_number(kernel_file_read(text, directory, name), key, otherwise);
}
