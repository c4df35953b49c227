#include "counters/sde.h"

#include "registry/book.h"
#include "settings/knobs.h"
#include "native.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of libsde's interface (sde_lib.h) that is used. */
enum { SDE_READ_ONLY = 0x00, SDE_DELTA = 0x00, SDE_LONG_LONG = 0x0 };
typedef long long (*sde_read)(void *);

struct figure {
    const struct variable *variable;
    const struct comm *comm;
    size_t slot;
};

enum { SDE_NAME_BYTES = 160 };

static long long figure_read(void *parameter)
{
    const struct figure *figure = parameter;
    if (book.run.detached)
        return 0;
    uint64_t value = book_sample(figure->variable, figure->comm, figure->slot);
    return (long long)(strcmp(figure->variable->record.unit, "ticks") == 0 ? clock_ns(book.scale, value) : value);
}

static bool is_sum(const struct variable *variable)
{
    uint32_t class = variable->record.class;
    return variable->record.combine == COMBINE_SUM && variable->record.count &&
           (class == VARIABLE_COUNTER || class == VARIABLE_AGGREGATE || class == VARIABLE_TIMER);
}

/* libsde keeps it for good. */
static void figure_add(void *sde, int (*add)(void *, const char *, int, int, sde_read, void *),
                       const struct variable *variable, const struct comm *comm, size_t slot)
{
    char name[SDE_NAME_BYTES];
    const char *item = variable_slot_name(variable->names, slot);
    struct figure *figure = malloc(sizeof *figure);
    if (!figure)
        return;
    *figure = (struct figure){variable, comm, slot};
    if (variable->record.count == 1)
        snprintf(name, sizeof name, "%s", variable_name(variable));
    else if (item)
        snprintf(name, sizeof name, "%s:%s", variable_name(variable), item);
    else
        snprintf(name, sizeof name, "%s:%zu", variable_name(variable), slot);
    if (add(sde, name, SDE_READ_ONLY | SDE_DELTA, SDE_LONG_LONG, figure_read, figure) != 0)
        free(figure);
}

void sde_publish(void (*say)(const char *format, ...))
{
    static const char *const names[] = {"libsde.so.1", "libsde.so"};
    static bool published;
    void *library = NULL;
    if (!knob_load(KNOB_SDE) || published)
        return;
    published = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    void *(*open)(const char *) = NULL;
    int (*add)(void *, const char *, int, int, sde_read, void *) = NULL;
    void *symbols[2] = {library ? dlsym(library, "papi_sde_init") : NULL,
                        library ? dlsym(library, "papi_sde_register_counter_cb") : NULL};
    memcpy(&open, &symbols[0], sizeof open);
    memcpy(&add, &symbols[1], sizeof add);
    void *sde = open && add ? open("mpit") : NULL;
    if (!sde) {
        say("mpit: MPIT_SDE: libsde cannot be loaded (package libsde1), so PAPI has no events for mpit's variables");
        return;
    }
    const struct comm *world = book_comm_find(abi_handle_of_comm(native.comm_world));
    for (size_t i = 0; i < variable_number(); i++) {
        const struct variable *variable = variable_at(i);
        bool bound = variable->record.bound;
        for (size_t slot = 0; is_sum(variable) && slot < variable->record.count && (!bound || world); slot++)
            figure_add(sde, add, variable, bound ? world : NULL, slot);
    }
}
