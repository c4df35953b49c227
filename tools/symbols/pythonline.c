#include "symbols/pythonline.h"

#include "format/label.h"
#include "format/pythonplace.h"
#include "format/runfile.h"

#include <string.h>

static char *clean_copy(const char *from, size_t bytes)
{
    char text[MODULE_PATH_BYTES];
    label_clean(text, sizeof text, from, bytes);
    return text[0] ? strdup(text) : NULL;
}

bool python_line_fill(const char *path, uint64_t address, struct symbol_line *line)
{
    if (!is_python_place(path))
        return false;
    const char *function = path + strlen(PYTHON_PLACE), *file = python_place_file(path);
    *line = (struct symbol_line){.function = clean_copy(function, strcspn(function, ":")),
                                 .file = clean_copy(file, strlen(file)),
                                 .line = python_place_line(address)};
    return true;
}
