#include "symbols/sitenames.h"

#include "base/array.h"
#include "symbols/symbols.h"

#include <stdlib.h>

static const struct symbol_place *site_place_find(const struct site_naming *naming, const struct summary_frame *frame)
{
    const struct summary_module *from = frame->module ? &naming->sites->modules[frame->module - 1] : NULL;
    if (!from)
        return NULL;
    const char *path = summary_text(naming->sites, from->path);
    struct module module = {.end = UINT64_MAX,
                            .path = path ? path : "",
                            .build_id = from->build_id,
                            .build_id_bytes = from->build_id_bytes};
    return symbols_look_up(naming->symbols, &module, "", frame->address - 1); /* in the call, not after it */
}

/* Adds the frames of one return address. */
static bool frame_name(struct site_naming *naming, const struct summary_frame *frame)
{
    const struct symbol_place *place = site_place_find(naming, frame);
    unsigned lines = place ? place->count : 1;
    for (unsigned i = 0; i < lines; i++) {
        if (!ARRAY_GROWN(naming->frames, naming->count))
            return false;
        struct summary_frame *named = &naming->frames[naming->count++];
        *named = *frame;
        if (!place)
            continue;
        const struct symbol_line *line = &place->lines[i];
        named->function = line->function ? summary_text_add(naming->sites, line->function) : 0;
        named->file = line->file ? summary_text_add(naming->sites, line->file) : 0;
        named->line = line->line;
        named->inlined = i + 1 < lines;
    }
    return true;
}

int site_naming_begin(struct site_naming *naming, struct summary_sites *sites, const struct stored_names *stored)
{
    *naming = (struct site_naming){.sites = sites, .symbols = symbols_open(stored)};
    return naming->symbols ? 0 : -1;
}

void site_naming_end(struct site_naming *naming)
{
    free(naming->frames);
    symbols_close(naming->symbols);
    *naming = (struct site_naming){0};
}

bool site_name(struct site_naming *naming, struct summary_site *site)
{
    uint64_t first = naming->count;
    for (uint32_t i = 0; i < site->frame_count; i++)
        if (!frame_name(naming, &naming->sites->frames[site->first_frame + i]))
            return false;
    site->first_frame = (uint32_t)first;
    site->frame_count = (uint32_t)(naming->count - first);
    return true;
}

static int frame_names_find(struct summary_sites *sites, const struct stored_names *stored)
{
    struct site_naming naming;
    if (sites->named || !sites->count)
        return 0;
    struct summary_site *list = calloc(sites->count, sizeof *list);
    bool good = site_naming_begin(&naming, sites, stored) == 0 && list;
    for (uint64_t i = 0; good && i < sites->count; i++) {
        list[i] = sites->list[i];
        good = site_name(&naming, &list[i]);
    }
    for (uint64_t i = 0; good && i < sites->count; i++)
        sites->list[i] = list[i];
    if (good) {
        free(sites->frames);
        sites->frames = naming.frames;
        sites->frame_count = naming.count;
        sites->named = 1;
        naming.frames = NULL;
    }
    free(list);
    site_naming_end(&naming);
    return good ? 0 : -1;
}

int site_names_find(struct summary *summary, const struct stored_names *stored)
{
    return frame_names_find(&summary->sites, stored) != 0 ? -1 : frame_names_find(&summary->parallel, stored);
}
