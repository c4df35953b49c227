/*
 * The data of mpit-top at one look, as JSON (share/doc/top.md).
 */
#ifndef MPIT_TOOLS_TOPJSON_H
#define MPIT_TOOLS_TOPJSON_H

#include "top/topmodel.h"

#include <jansson.h>

/* ranks is a list (ranklist.h) of the wanted ranks, or NULL for all. Returns NULL without memory. */
json_t *top_json(const struct top_model *model, const struct live *live, const char *ranks);

/* topsites.c: the places that take longest in the last interval. */
json_t *top_sites_json(const struct top_job *job, struct call_places *places);

#endif
