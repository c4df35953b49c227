/* The page of a comparison: the names of the runs, the head of the text, and the JSON. */
#include "compare/comparison.h"

#include "compare/compared.h"
#include "page/page.h"

#include <stdlib.h>

int comparison_page(const struct comparison *comparison, char *const *runs, const char *target)
{
    char *head = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&head, &bytes);
    if (out)
        comparison_head_print(comparison, out);
    json_t *document = out && fclose(out) == 0
                           ? json_pack("{s:s, s:o, s:o, s:s, s:o}", "mpit", MPIT_VERSION, "old",
                                       run_names_json(runs, comparison->runs[0]), "new",
                                       run_names_json(runs + comparison->runs[0], comparison->runs[1]), "head", head,
                                       "difference", comparison_json(comparison))
                           : NULL;
    free(head);
    return page_write_document(document, target);
}
