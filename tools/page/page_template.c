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

const char *const page_template[] = {page_head, page_head_end, page_tail, page_tail_end};
#else
const char *const page_template[] = {NULL, NULL, NULL, NULL};
#endif
