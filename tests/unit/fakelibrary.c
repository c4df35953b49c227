#include "fakelibrary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct door door;
int door_users;
struct fake_library fake;

/* A handle of the library's: like Open MPI's, it goes on by itself once it was started, and one stop freezes all. */
struct fake_handle {
    struct fake_pvar *pvar;
    bool started;
};

static bool is_finalized;

void door_open(void)
{
}

void string_return(const char *text, char *buffer, int *length)
{
    if (buffer && length && *length > 0)
        snprintf(buffer, (size_t)*length, "%s", text);
    if (length)
        *length = (int)strlen(text) + 1;
}

static int initialized(int *flag)
{
    *flag = 1;
    return MPI_SUCCESS;
}

static int finalized(int *flag)
{
    *flag = is_finalized;
    return MPI_SUCCESS;
}

void fake_finalized(bool so)
{
    is_finalized = so;
}

static int pvar_get_num(int *count)
{
    *count = fake.pvar_count;
    return MPI_SUCCESS;
}

static int pvar_get_index(const char *name, int class, int *index)
{
    for (int i = 0; i < fake.pvar_count; i++)
        if (!fake.pvars[i].dead && fake.pvars[i].class == class && strcmp(fake.pvars[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

static int pvar_get_info(int index, char *name, int *name_len, int *verbosity, int *class, MPI_Datatype *datatype,
                         MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                         int *atomic)
{
    if (index < 0 || index >= fake.pvar_count || fake.pvars[index].dead)
        return MPI_T_ERR_INVALID; /* not the code that the standard has */
    const struct fake_pvar *p = &fake.pvars[index];
    string_return(p->name, name, name_len);
    string_return("", desc, desc_len);
    int ignored;
    *(verbosity ? verbosity : &ignored) = MPI_T_VERBOSITY_USER_BASIC;
    *(class ? class : &ignored) = p->class;
    if (datatype)
        *datatype = p->datatype;
    if (enumtype)
        *enumtype = MPI_T_ENUM_NULL;
    *(bind ? bind : &ignored) = p->bind;
    *(readonly ? readonly : &ignored) = p->readonly;
    *(continuous ? continuous : &ignored) = p->continuous;
    *(atomic ? atomic : &ignored) = p->atomic;
    return MPI_SUCCESS;
}

static int pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count)
{
    (void)session, (void)object;
    struct fake_handle *fresh = calloc(1, sizeof *fresh);
    fresh->pvar = &fake.pvars[index];
    *count = fresh->pvar->count;
    *handle = (MPI_T_pvar_handle)(void *)fresh;
    fake.handles++;
    return MPI_SUCCESS;
}

static int pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    (void)session;
    free(*handle);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    fake.handles--;
    return MPI_SUCCESS;
}

static int pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)session;
    struct fake_handle *h = (void *)handle;
    if (h->started)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    h->started = true;
    fake.frozen = false;
    return MPI_SUCCESS;
}

static int pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)session;
    struct fake_handle *h = (void *)handle;
    h->started = false;
    fake.frozen = true;
    fake.stops++;
    return MPI_SUCCESS;
}

static int pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    (void)session;
    const struct fake_handle *h = (void *)handle;
    if (h->pvar->dead)
        return MPI_T_ERR_INVALID_HANDLE;
    memcpy(buf, &h->pvar->now, sizeof h->pvar->now); /* all of it, whatever the count */
    return MPI_SUCCESS;
}

static int pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    (void)session, (void)handle, (void)buf;
    fake.writes++;
    return MPI_SUCCESS;
}

static int pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    (void)session, (void)handle;
    return MPI_SUCCESS;
}

static int cvar_get_num(int *count)
{
    *count = fake.cvar_count;
    return MPI_SUCCESS;
}

static int cvar_get_index(const char *name, int *index)
{
    for (int i = 0; i < fake.cvar_count; i++)
        if (!fake.cvars[i].dead && strcmp(fake.cvars[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

static int cvar_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                         MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    if (index < 0 || index >= fake.cvar_count || fake.cvars[index].dead)
        return MPI_T_ERR_INVALID_INDEX;
    int ignored;
    string_return(fake.cvars[index].name, name, name_len);
    string_return("", desc, desc_len);
    *(verbosity ? verbosity : &ignored) = MPI_T_VERBOSITY_USER_BASIC;
    if (datatype)
        *datatype = native.int_;
    if (enumtype)
        *enumtype = fake.cvars[index].enumtype;
    *(bind ? bind : &ignored) = MPI_T_BIND_NO_OBJECT;
    *(scope ? scope : &ignored) = MPI_T_SCOPE_LOCAL;
    return MPI_SUCCESS;
}

/* Its enumerations are texts: "name,item,item"; values count from 10. */
static int enum_get_info(MPI_T_enum type, int *items, char *name, int *name_len)
{
    const char *text = (const void *)type;
    char copy[64];
    *items = 0;
    for (const char *c = text; *c; c++)
        *items += *c == ',';
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(text, ","), text);
    string_return(copy, name, name_len);
    return MPI_SUCCESS;
}

static int enum_get_item(MPI_T_enum type, int item, int *value, char *name, int *name_len)
{
    const char *text = (const void *)type;
    char copy[64];
    for (int i = 0; i <= item; i++)
        text = strchr(text, ',') + 1;
    *value = 10 + item;
    snprintf(copy, sizeof copy, "%.*s", (int)strcspn(text, ","), text);
    string_return(copy, name, name_len);
    return MPI_SUCCESS;
}

static int category_get_num(int *count)
{
    *count = fake.category_count;
    return MPI_SUCCESS;
}

static int category_changed(int *stamp)
{
    *stamp = fake.stamp;
    return MPI_SUCCESS;
}

static int category_get_info(int index, char *name, int *name_len, char *desc, int *desc_len, int *cvars, int *pvars,
                             int *categories)
{
    if (index < 0 || index >= fake.category_count || fake.categories[index].dead)
        return MPI_T_ERR_INVALID_INDEX;
    const struct fake_category *c = &fake.categories[index];
    int ignored;
    string_return(c->name, name, name_len);
    string_return("", desc, desc_len);
    *(cvars ? cvars : &ignored) = c->cvar_count;
    *(pvars ? pvars : &ignored) = c->pvar_count;
    *(categories ? categories : &ignored) = c->category_count;
    return MPI_SUCCESS;
}

static int category_get_index(const char *name, int *index)
{
    for (int i = 0; i < fake.category_count; i++)
        if (!fake.categories[i].dead && strcmp(fake.categories[i].name, name) == 0) {
            *index = i;
            return MPI_SUCCESS;
        }
    return MPI_T_ERR_INVALID_NAME;
}

#define LIST(kind, member)                                                                                             \
    static int category_get_##kind(int index, int len, int indices[])                                                  \
    {                                                                                                                  \
        fake.category_asks++;                                                                                          \
        for (int i = 0; i < len && i < fake.categories[index].member##_count; i++)                                     \
            indices[i] = fake.categories[index].kind[i];                                                               \
        return MPI_SUCCESS;                                                                                            \
    }
LIST(cvars, cvar)
LIST(pvars, pvar)
LIST(categories, category)

/* Types need only differ. */
static MPI_Datatype type(int number)
{
    return (MPI_Datatype)(uintptr_t)(0x1000 + number);
}

void fake_open(void)
{
    memset(&fake, 0, sizeof fake);
    native.Initialized = initialized;
    native.Finalized = finalized;
    native.char_ = type(1);
    native.int_ = type(2);
    native.unsigned_ = type(3);
    native.unsigned_long = type(4);
    native.unsigned_long_long = type(5);
    native.double_ = type(6);
    native.count = type(7);
    is_finalized = false;
    door_users = 1;
    door = (struct door){
        .open = true,
        .enum_get_info = enum_get_info,
        .enum_get_item = enum_get_item,
        .cvar_get_num = cvar_get_num,
        .cvar_get_index = cvar_get_index,
        .cvar_get_info = cvar_get_info,
        .pvar_get_num = pvar_get_num,
        .pvar_get_index = pvar_get_index,
        .pvar_get_info = pvar_get_info,
        .pvar_handle_alloc = pvar_handle_alloc,
        .pvar_handle_free = pvar_handle_free,
        .pvar_start = pvar_start,
        .pvar_stop = pvar_stop,
        .pvar_read = pvar_read,
        .pvar_write = pvar_write,
        .pvar_reset = pvar_reset,
        .category_get_num = category_get_num,
        .category_changed = category_changed,
        .category_get_info = category_get_info,
        .category_get_index = category_get_index,
        .category_get_cvars = category_get_cvars,
        .category_get_pvars = category_get_pvars,
        .category_get_categories = category_get_categories,
    };
}

struct fake_pvar *fake_pvar_add(const char *name, int class, MPI_Datatype datatype)
{
    struct fake_pvar *p = &fake.pvars[fake.pvar_count++];
    *p = (struct fake_pvar){
        .name = name, .class = class, .bind = MPI_T_BIND_NO_OBJECT, .datatype = datatype, .count = 1};
    return p;
}

struct fake_cvar *fake_cvar_add(const char *name)
{
    struct fake_cvar *c = &fake.cvars[fake.cvar_count++];
    *c = (struct fake_cvar){.name = name, .enumtype = MPI_T_ENUM_NULL};
    return c;
}

struct fake_category *fake_category_add(const char *name)
{
    struct fake_category *c = &fake.categories[fake.category_count++];
    *c = (struct fake_category){.name = name};
    fake.stamp++;
    return c;
}
