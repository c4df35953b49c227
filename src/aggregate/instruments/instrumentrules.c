#include "instruments/instrumentrules.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { EVENT_ELEMENTS_MAX = ELEMENTS_MOST, EVENT_BYTES_MAX = UINT16_MAX };

int instrument_refuse(char *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, INSTRUMENT_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int instrument_name_check(const char *name, char *error)
{
    if (!name || !name[0])
        return instrument_refuse(error, MPIT_ERR_NAME, "it has no name");
    size_t length = strlen(name);
    if (length > MPIT_NAME_MAX)
        return instrument_refuse(error, MPIT_ERR_NAME, "its name has %zu characters; allowed are at most %d", length,
                                 MPIT_NAME_MAX);
    for (const char *c = name; *c; c++)
        if (!letter(*c) && (c == name || !((*c >= '0' && *c <= '9') || strchr(".:/-", *c))))
            return instrument_refuse(
                error, MPIT_ERR_NAME,
                "its name has the character 0x%02x at position %zu; allowed are letters, digits and _ . : / -, and "
                "a letter or _ at the start",
                (unsigned char)*c, (size_t)(c - name));
    if (strncmp(name, "mpit_", 5) == 0 || strncmp(name, "MPI_", 4) == 0)
        return instrument_refuse(error, MPIT_ERR_NAME, "its name begins with mpit_ or MPI_, which are reserved");
    return MPIT_OK;
}

static const char *class_name(uint32_t class)
{
    static const char *const names[] = {"?",          "STATE",         "LEVEL",        "SIZE",
                                        "PERCENTAGE", "HIGHWATERMARK", "LOWWATERMARK", "COUNTER",
                                        "AGGREGATE",  "TIMER",         "GENERIC"};
    return class <= MPIT_CLASS_GENERIC ? names[class] : names[0];
}

#define TYPE(name) (1u << MPIT_TYPE_##name)
#define UNSIGNED_TYPES (TYPE(UNSIGNED) | TYPE(UNSIGNED_LONG) | TYPE(UNSIGNED_LONG_LONG))

/* The table of section "Performance Variable Classes". */
static uint32_t types_of_class(uint32_t class)
{
    switch (class) {
    case MPIT_CLASS_STATE:
        return TYPE(INT);
    case MPIT_CLASS_PERCENTAGE:
        return TYPE(DOUBLE);
    case MPIT_CLASS_COUNTER:
        return UNSIGNED_TYPES;
    case MPIT_CLASS_GENERIC:
        return UNSIGNED_TYPES | TYPE(INT) | TYPE(DOUBLE);
    default:
        return UNSIGNED_TYPES | TYPE(DOUBLE);
    }
}

static const char *types_text(uint32_t types)
{
    if (types == TYPE(INT))
        return "INT";
    if (types == TYPE(DOUBLE))
        return "DOUBLE";
    if (types == UNSIGNED_TYPES)
        return "UNSIGNED, UNSIGNED_LONG, UNSIGNED_LONG_LONG";
    return types & TYPE(INT) ? "INT, UNSIGNED, UNSIGNED_LONG, UNSIGNED_LONG_LONG, DOUBLE"
                             : "UNSIGNED, UNSIGNED_LONG, UNSIGNED_LONG_LONG, DOUBLE";
}

int instrument_bind_check(uint32_t bind, uint32_t verbosity, char *error)
{
    if (bind > MPIT_BIND_COMM)
        return instrument_refuse(error, MPIT_ERR_CLASS, "%u is not a binding", bind);
    if (verbosity > MPIT_VERBOSITY_DEVELOPER_ALL)
        return instrument_refuse(error, MPIT_ERR_CLASS, "%u is not a verbosity", verbosity);
    return MPIT_OK;
}

int instrument_variable_check(const struct mpit_variable *v, char *error)
{
    if (v->class_ < MPIT_CLASS_STATE || v->class_ > MPIT_CLASS_GENERIC)
        return instrument_refuse(error, MPIT_ERR_CLASS, "%u is not a class of performance variables", v->class_);
    uint32_t types = types_of_class(v->class_);
    if (v->type > MPIT_TYPE_CHAR || !(types & 1u << v->type))
        return instrument_refuse(error, MPIT_ERR_TYPE, "its type is not allowed; allowed for a %s are %s",
                                 class_name(v->class_), types_text(types));
    if (v->count < 1 || v->count > MPIT_ELEMENTS_MAX)
        return instrument_refuse(error, MPIT_ERR_COUNT, "%u elements; allowed are 1 to %d", v->count,
                                 MPIT_ELEMENTS_MAX);
    bool marks = v->class_ == MPIT_CLASS_HIGHWATERMARK || v->class_ == MPIT_CLASS_LOWWATERMARK ||
                 (v->flags & MPIT_WITH_WATERMARKS);
    if (marks && v->count != 1)
        return instrument_refuse(error, MPIT_ERR_COUNT, "%u elements; allowed for a watermark is 1", v->count);
    if ((v->flags & MPIT_WITH_WATERMARKS) && v->class_ != MPIT_CLASS_LEVEL)
        return instrument_refuse(error, MPIT_ERR_CLASS,
                                 "MPIT_WITH_WATERMARKS is allowed for class LEVEL only; its class is %s",
                                 class_name(v->class_));
    if (v->flags & ~(uint32_t)(MPIT_WITH_WATERMARKS | MPIT_EVERY_UPDATE))
        return instrument_refuse(error, MPIT_ERR_CLASS, "unknown flags 0x%x", v->flags);
    if (v->names && v->type != MPIT_TYPE_INT && v->count == 1)
        return instrument_refuse(
            error, MPIT_ERR_TYPE,
            "an enumeration is allowed only for type INT (names of values) or for an array (names of elements)");
    return instrument_bind_check(v->bind, v->verbosity, error);
}

static bool value_is_less(uint32_t type, union mpit_value a, union mpit_value b)
{
    return type == MPIT_TYPE_DOUBLE ? a.real < b.real
           : type == MPIT_TYPE_INT  ? (int64_t)a.integer < (int64_t)b.integer
                                    : a.integer < b.integer;
}

int instrument_control_check(const struct mpit_control *c, char *error)
{
    if (c->type < MPIT_TYPE_INT || c->type > MPIT_TYPE_CHAR)
        return instrument_refuse(error, MPIT_ERR_TYPE, "%u is not a type of control variables", c->type);
    if (c->scope < MPIT_SCOPE_CONSTANT || c->scope > MPIT_SCOPE_ALL_EQ)
        return instrument_refuse(error, MPIT_ERR_CLASS, "%u is not a scope", c->scope);
    if (c->names && c->type != MPIT_TYPE_INT)
        return instrument_refuse(error, MPIT_ERR_TYPE, "an enumeration is allowed only for type INT");
    if (c->type == MPIT_TYPE_CHAR) {
        if (c->bind != MPIT_BIND_NONE)
            return instrument_refuse(error, MPIT_ERR_TYPE, "a text must not be bound to an object");
        if (c->capacity < 1 || c->capacity > MPIT_ELEMENTS_MAX)
            return instrument_refuse(error, MPIT_ERR_COUNT, "a text of %u bytes; allowed are 1 to %d", c->capacity,
                                     MPIT_ELEMENTS_MAX);
        if (c->initial.text && strlen(c->initial.text) >= c->capacity)
            return instrument_refuse(error, MPIT_ERR_VALUE, "its initial text does not fit its %u bytes", c->capacity);
    } else if (c->least.integer || c->most.integer) {
        if (value_is_less(c->type, c->most, c->least))
            return instrument_refuse(error, MPIT_ERR_VALUE, "its maximum is less than its minimum");
        if (value_is_less(c->type, c->initial, c->least) || value_is_less(c->type, c->most, c->initial))
            return instrument_refuse(error, MPIT_ERR_VALUE, "its initial value is outside of its limits");
    }
    return instrument_bind_check(c->bind, c->verbosity, error);
}

int instrument_event_check(const struct mpit_event_type *event, char *error)
{
    static const uint32_t sizes[] = {0, 4, 4, sizeof(long), 8, 8};
    if (event->element_count > EVENT_ELEMENTS_MAX || (event->element_count && !event->elements))
        return instrument_refuse(error, MPIT_ERR_COUNT, "%u elements; allowed are at most %d", event->element_count,
                                 EVENT_ELEMENTS_MAX);
    if (event->bytes > EVENT_BYTES_MAX)
        return instrument_refuse(error, MPIT_ERR_COUNT, "%u bytes per instance; allowed are at most %d", event->bytes,
                                 EVENT_BYTES_MAX);
    for (uint32_t i = 0; i < event->element_count; i++) {
        const struct mpit_element *element = &event->elements[i];
        if (element->type < MPIT_TYPE_INT || element->type > MPIT_TYPE_DOUBLE)
            return instrument_refuse(error, MPIT_ERR_TYPE, "%u is not a type (element %u)", element->type, i);
        if (element->offset > event->bytes || sizes[element->type] > event->bytes - element->offset)
            return instrument_refuse(error, MPIT_ERR_VALUE, "element %u does not fit into the %u bytes of an instance",
                                     i, event->bytes);
    }
    return instrument_bind_check(event->bind, event->verbosity, error);
}

int instrument_enumeration_check(const struct mpit_enumeration *given, char *error)
{
    if (given->count < 1 || given->count > INSTRUMENT_ITEMS_MAX || !given->items)
        return instrument_refuse(error, MPIT_ERR_COUNT, "%u items; allowed are 1 to %d", given->count,
                                 INSTRUMENT_ITEMS_MAX);
    for (uint32_t i = 0; i < given->count; i++) {
        if (!given->items[i].name || !given->items[i].name[0] || strlen(given->items[i].name) > MPIT_NAME_MAX)
            return instrument_refuse(error, MPIT_ERR_NAME,
                                     "the name of item %u is empty or has more than %d characters", i, MPIT_NAME_MAX);
        for (uint32_t k = 0; k < i; k++)
            if (given->items[k].value == given->items[i].value)
                return instrument_refuse(error, MPIT_ERR_VALUE, "items %u and %u have the same value %d", k, i,
                                         given->items[i].value);
    }
    return MPIT_OK;
}
