/* The page of a comparison: the names of the runs, the head of the text, and the JSON. */
#include "compare/comparison.h"

#include "format/label.h"
#include "page/page.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static json_t *names_json(char *const *runs, unsigned count)
{
    char name[PATH_MAX];
    json_t *names = json_array();
    for (unsigned i = 0; i < count; i++) {
        label_clean(name, sizeof name, runs[i], strlen(runs[i]));
        json_array_append_new(names, json_string(name));
    }
    return names;
}

int comparison_page(const struct comparison *comparison, char *const *runs, const char *target)
{
    char *head = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&head, &bytes);
    if (out)
        comparison_head_print(comparison, out);
    json_t *document = out && fclose(out) == 0 ? json_pack("{s:s, s:o, s:o, s:s, s:o}", "mpit", MPIT_VERSION, "old",
                                                           names_json(runs, comparison->runs[0]), "new",
                                                           names_json(runs + comparison->runs[0], comparison->runs[1]),
                                                           "head", head, "difference", comparison_json(comparison))
                                               : NULL;
    free(head);
    return page_write_document(document, target);
}
