/* The page's template, made by share/report/assemble.py: text before and after the document. */
#include "page/page.h"

#include <stddef.h>

#ifdef MPIT_PAGE_HEAD
#define EMBED(name, file)                                                                                              \
    __asm__(".pushsection .rodata\n" #name ": .incbin \"" file "\"\n" #name "_end: .byte 0\n.popsection\n");           \
    extern const char name[] __attribute__((visibility("hidden")));                                                    \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(page_head, MPIT_PAGE_HEAD);
EMBED(page_tail, MPIT_PAGE_TAIL);

const char *page_template_head(size_t *bytes)
{
    *bytes = (size_t)(page_head_end - page_head);
    return page_head;
}

const char *page_template_tail(size_t *bytes)
{
    *bytes = (size_t)(page_tail_end - page_tail);
    return page_tail;
}
#else
const char *page_template_head(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}

const char *page_template_tail(size_t *bytes)
{
    *bytes = 0;
    return NULL;
}
#endif
