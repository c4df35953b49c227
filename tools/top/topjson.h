/*
 * What mpit-top knows at one look, as JSON (share/doc/top.md).
 */
#ifndef MPIT_TOOLS_TOPJSON_H
#define MPIT_TOOLS_TOPJSON_H

#include "top/topmodel.h"

#include <jansson.h>

/* ranks: a list (ranklist.h) of those that are wanted; NULL: all. NULL: no memory. */
json_t *top_json(const struct top_model *model, const struct live *live, const char *ranks);

#endif
