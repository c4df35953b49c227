/*
 * mpit-list-walk: an MPI program that lists every performance and control variable of this MPI, as one JSON document on
 * standard output. Its arguments are libraries that it loads first. It is built once for each MPI. mpit-list runs it,
 * with or without mpit's library.
 *
 * Handles are allocated only for mpit's own variables, because some native ones crash there (Open MPI's mtl_psm2_*). So
 * the count of a native pvar and the value of a native cvar are null.
 */
#include <mpit/instrument.h>

#include <jansson.h>
#include <mpi.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 512, DESCRIPTION_BYTES = 4096 };

struct label {
    int value;
    const char *text;
};

static const struct label classes[] = {{MPI_T_PVAR_CLASS_STATE, "STATE"},
                                       {MPI_T_PVAR_CLASS_LEVEL, "LEVEL"},
                                       {MPI_T_PVAR_CLASS_SIZE, "SIZE"},
                                       {MPI_T_PVAR_CLASS_PERCENTAGE, "PERCENTAGE"},
                                       {MPI_T_PVAR_CLASS_HIGHWATERMARK, "HIGHWATERMARK"},
                                       {MPI_T_PVAR_CLASS_LOWWATERMARK, "LOWWATERMARK"},
                                       {MPI_T_PVAR_CLASS_COUNTER, "COUNTER"},
                                       {MPI_T_PVAR_CLASS_AGGREGATE, "AGGREGATE"},
                                       {MPI_T_PVAR_CLASS_TIMER, "TIMER"},
                                       {MPI_T_PVAR_CLASS_GENERIC, "GENERIC"}};

static const struct label bindings[] = {{MPI_T_BIND_NO_OBJECT, "-"},
                                        {MPI_T_BIND_MPI_COMM, "comm"},
                                        {MPI_T_BIND_MPI_DATATYPE, "datatype"},
                                        {MPI_T_BIND_MPI_ERRHANDLER, "errhandler"},
                                        {MPI_T_BIND_MPI_FILE, "file"},
                                        {MPI_T_BIND_MPI_GROUP, "group"},
                                        {MPI_T_BIND_MPI_OP, "op"},
                                        {MPI_T_BIND_MPI_REQUEST, "request"},
                                        {MPI_T_BIND_MPI_WIN, "win"},
                                        {MPI_T_BIND_MPI_MESSAGE, "message"},
                                        {MPI_T_BIND_MPI_INFO, "info"}};

static const struct label scopes[] = {{MPI_T_SCOPE_CONSTANT, "constant"}, {MPI_T_SCOPE_READONLY, "readonly"},
                                      {MPI_T_SCOPE_LOCAL, "local"},       {MPI_T_SCOPE_GROUP, "group"},
                                      {MPI_T_SCOPE_GROUP_EQ, "group_eq"}, {MPI_T_SCOPE_ALL, "all"},
                                      {MPI_T_SCOPE_ALL_EQ, "all_eq"}};

#define LABEL(labels, value) label_text(labels, sizeof(labels) / sizeof *(labels), value)

static const char *label_text(const struct label *labels, size_t count, int value)
{
    for (size_t i = 0; i < count; i++)
        if (labels[i].value == value)
            return labels[i].text;
    return "?";
}

static const char *type_text(MPI_Datatype type)
{
    const struct {
        MPI_Datatype type;
        const char *text;
    } types[] = {{MPI_INT, "int"},
                 {MPI_UNSIGNED, "unsigned"},
                 {MPI_UNSIGNED_LONG, "unsigned long"},
                 {MPI_UNSIGNED_LONG_LONG, "unsigned long long"},
                 {MPI_COUNT, "MPI_Count"},
                 {MPI_CHAR, "char"},
                 {MPI_DOUBLE, "double"},
                 {MPI_INT32_T, "int32_t"},
                 {MPI_INT64_T, "int64_t"},
                 {MPI_UINT32_T, "uint32_t"},
                 {MPI_UINT64_T, "uint64_t"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].text;
    return "?";
}

static bool is_mpit_name(const char *name)
{
    return strncmp(name, "mpit_", 5) == 0 || strcmp(name, "MPI_T_UMQ_LENGTH") == 0;
}

/* Returns the enum mpit_class for MPI's number of a class, or 0 for none. */
static int class_number(int class)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].value == class)
            return (int)i + MPIT_CLASS_STATE;
    return 0;
}

/* Returns the file that registered the variable, or NULL for none. `class` is 0 for control variables. */
static const char *registering_file(const char *name, int class)
{
    const struct mpit_interface *interface = mpit_interface_find();
    return interface ? interface->component_of(name, class) : NULL;
}

/* Native texts may be invalid UTF-8, which JSON does not allow. */
static json_t *native_text_json(char *text)
{
    json_t *json = json_string(text);
    for (char *at = text; !json && *at; at++)
        if (*at & 0x80)
            *at = '?';
    return json ? json : json_string(text);
}

/* Returns an object to which a variable of this binding is bound here, or NULL if the walker has none. */
static void *bound_object(int binding)
{
    static MPI_Comm world;
    world = MPI_COMM_WORLD;
    return binding == MPI_T_BIND_MPI_COMM ? &world : NULL;
}

static json_t *pvar_count(MPI_T_pvar_session session, int index, int binding)
{
    MPI_T_pvar_handle handle;
    int count;
    void *object = bound_object(binding);
    if (binding != MPI_T_BIND_NO_OBJECT && !object)
        return json_null();
    if (MPI_T_pvar_handle_alloc(session, index, object, &handle, &count) != MPI_SUCCESS)
        return json_null();
    MPI_T_pvar_handle_free(session, &handle);
    return json_integer(count);
}

static json_t *pvar_json(MPI_T_pvar_session session, int index)
{
    char name[NAME_BYTES] = "", description[DESCRIPTION_BYTES] = "";
    int name_bytes = sizeof name, description_bytes = sizeof description;
    int verbosity, class, binding, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum names;
    if (MPI_T_pvar_get_info(index, name, &name_bytes, &verbosity, &class, &type, &names, description,
                            &description_bytes, &binding, &readonly, &continuous, &atomic) != MPI_SUCCESS)
        return NULL; /* a hole: the variable's component is gone */
    const char *component = registering_file(name, class_number(class));
    bool ours = is_mpit_name(name) || component;
    return json_pack("{s:i, s:o, s:s, s:s, s:s, s:o, s:b, s:b, s:b, s:b, s:s?, s:o}", "index", index, "name",
                     native_text_json(name), "class", LABEL(classes, class), "type", type_text(type), "bind",
                     LABEL(bindings, binding), "count", ours ? pvar_count(session, index, binding) : json_null(),
                     "readonly", readonly, "continuous", continuous, "atomic", atomic, "mpit", is_mpit_name(name),
                     "component", component, "description", native_text_json(description));
}

static json_t *cvar_value(int index, int binding, MPI_Datatype type)
{
    MPI_T_cvar_handle handle;
    int count, size;
    json_t *value = json_null();
    if (binding != MPI_T_BIND_NO_OBJECT || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return value;
    MPI_Type_size(type, &size);
    char *buffer = calloc((size_t)count + 1, (size_t)size);
    if (buffer && MPI_T_cvar_read(handle, buffer) == MPI_SUCCESS) {
        if (type == MPI_CHAR)
            value = native_text_json(buffer);
        else if (type == MPI_INT)
            value = json_integer(*(int *)buffer);
        else if (type == MPI_UNSIGNED_LONG_LONG)
            value = json_integer((json_int_t) * (unsigned long long *)buffer);
    }
    free(buffer);
    MPI_T_cvar_handle_free(&handle);
    return value;
}

static json_t *cvar_json(int index)
{
    char name[NAME_BYTES] = "", description[DESCRIPTION_BYTES] = "";
    int name_bytes = sizeof name, description_bytes = sizeof description, verbosity, binding, scope;
    MPI_Datatype type;
    MPI_T_enum names;
    if (MPI_T_cvar_get_info(index, name, &name_bytes, &verbosity, &type, &names, description, &description_bytes,
                            &binding, &scope) != MPI_SUCCESS)
        return NULL;
    const char *component = registering_file(name, 0);
    return json_pack("{s:i, s:o, s:s, s:s, s:s, s:b, s:s?, s:o, s:o}", "index", index, "name", native_text_json(name),
                     "type", type_text(type), "bind", LABEL(bindings, binding), "scope", LABEL(scopes, scope), "mpit",
                     is_mpit_name(name), "component", component, "value",
                     is_mpit_name(name) || component ? cvar_value(index, binding, type) : json_null(), "description",
                     native_text_json(description));
}

static json_t *pvars_json(void)
{
    MPI_T_pvar_session session;
    json_t *pvars = json_array();
    int count = 0;
    if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS)
        return pvars;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++)
        json_array_append_new(pvars, pvar_json(session, i));
    MPI_T_pvar_session_free(&session);
    return pvars;
}

static json_t *cvars_json(void)
{
    json_t *cvars = json_array();
    int count = 0;
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++)
        json_array_append_new(cvars, cvar_json(i));
    return cvars;
}

/* The list alone goes to standard output. What libraries print goes to standard error. Returns NULL without memory. */
static FILE *output_claim(void)
{
    int descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    return descriptor >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 ? fdopen(descriptor, "w") : NULL;
}

int main(int argc, char *argv[])
{
    FILE *output = output_claim();
    if (!output)
        return 1;
    int provided, bytes;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    for (int i = 1; i < argc; i++)
        if (!dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL)) {
            fprintf(stderr, "mpit-list-walk: %s\n", dlerror());
            return 1;
        }
    MPI_Init(&argc, &argv);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) {
        fprintf(stderr, "mpit-list-walk: MPI_T_init_thread failed\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Get_library_version(library, &bytes);
    library[strcspn(library, "\n")] = '\0';
    json_t *document =
        json_pack("{s:o, s:o, s:o}", "mpi", native_text_json(library), "pvars", pvars_json(), "cvars", cvars_json());
    int status = document && json_dumpf(document, output, JSON_INDENT(1)) == 0 && fclose(output) == 0 ? 0 : 1;
    json_decref(document);
    MPI_T_finalize();
    MPI_Finalize();
    return status;
}
