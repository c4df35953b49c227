#include "report/summary_findings.h"

#include "base/textwrap.h"
#include "job/jsonvalue.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A program that is below it has a fault, known or not. */
#define EFFICIENCY_GOOD 0.8

void finding_notes_print(const struct findings *findings, FILE *out)
{
    for (size_t i = 0; i <= findings->count; i++) {
        const char *text = i == findings->count ? findings->lack : findings->list[i].note ? findings->list[i].text : "";
        if (!text[0])
            continue;
        fprintf(out, "  !          ");
        text_wrap(text, 13, out);
    }
}

void summary_findings_print(const struct findings *findings, size_t most, bool advice, FILE *out)
{
    char text[2 * FINDING_TEXT_BYTES], share[16];
    size_t shown = 0, all = 0;
    double explained = 0;              /* by processors that ranks share: a line above */
    bool tight = most == 1 && !advice; /* no line is left */
    if (!findings->known || (findings->lack[0] && !findings->replayed))
        return;
    for (size_t i = 0; i < findings->count; i++) {
        all += !findings->list[i].note;
        explained += strcmp(findings->list[i].rule, "oversubscribed") == 0 ? findings->list[i].share_of_run : 0;
    }
    fprintf(out, "\nWhat stands out (of %s, %s)", findings->of_part ? "the analysed part" : "run",
            findings->replayed ? "gained" : "by sums");
    if (tight && all > most)
        fprintf(out, ", %zu more: mpit-dump --full", all - most);
    fprintf(out, "\n");
    for (size_t i = 0; i < findings->count && shown < most; i++) {
        const struct finding *finding = &findings->list[i];
        if (finding->note)
            continue;
        snprintf(share, sizeof share, finding->share_of_run > 1 ? ">100%%" : "%.0f %%", finding->share_of_run * 100);
        snprintf(text, sizeof text, "%s%s%s", finding->text, advice ? " " : "", advice ? finding->advice : "");
        fprintf(out, "  %5s  ", share);
        text_wrap(text, 9, out);
        shown++;
    }
    if (!tight && all > shown)
        fprintf(out, "         %zu more: mpit-dump --full\n", all - shown);
    if (!shown && explained && findings->efficiency + explained >= EFFICIENCY_GOOD)
        fprintf(out, "  Nothing stands out beside the shared processors.\n");
    else if (!shown && findings->efficiency < EFFICIENCY_GOOD)
        fprintf(out, "  No fault that mpit knows explains the efficiency of %.1f %%.\n", findings->efficiency * 100);
    else if (!shown)
        fprintf(out, "  Nothing stands out.\n");
}

json_t *finding_place_json(const struct summary *summary, const struct summary_site *site)
{
    const struct summary_sites *sites = &summary->sites;
    const struct summary_frame *frame = site ? site_place_frame(sites, site) : NULL;
    if (!frame)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:s}", "function", text_json(summary_text(sites, frame->function)), "file",
                     text_json(summary_text(sites, frame->file)), "line",
                     frame->line ? json_integer(frame->line) : json_null(), "mpi", call_table[site->kind].name);
}

static json_t *rank_list_json(const struct rank_list *list)
{
    return JSON_LIST(i, list->count, json_integer(list->ranks[i]));
}

static json_t *places_json(const struct summary *summary, const struct summary_site *const *sites, size_t count)
{
    json_t *places = json_array();
    for (size_t i = 0; i < count; i++)
        if (sites[i] && site_place_frame(&summary->sites, sites[i]))
            json_array_append_new(places, finding_place_json(summary, sites[i]));
    return places;
}

static json_t *finding_json(const struct summary *summary, const struct finding *finding)
{
    json_t *causes = places_json(summary, finding->around, 2);
    return json_pack("{s:s, s:o, s:s, s:f, s:f, s:o, s:o, s:O, s:b, s:{s:o, s:o}, s:{s:o, s:o}}", "rule", finding->rule,
                     "text", text_json(finding->text), "advice", finding->advice, "seconds", finding->seconds,
                     "share_of_run", finding->share_of_run, "ranks", rank_list_json(&finding->causes), "place",
                     finding_place_json(summary, finding->site), "places", causes, "note", finding->note, "cause",
                     "ranks", rank_list_json(&finding->causes), "places", causes, "symptom", "ranks",
                     rank_list_json(&finding->waiting), "places", places_json(summary, &finding->site, 1));
}

void summary_findings_put(json_t *json, const struct summary *summary)
{
    struct findings *findings = malloc(sizeof *findings);
    if (!findings)
        return;
    findings_find(findings, summary);
    json_object_set_new(json, "findings",
                        findings->known ? JSON_LIST(i, findings->count, finding_json(summary, &findings->list[i]))
                                        : json_null());
    json_object_set_new(json, "not_judged", findings->lack[0] ? text_json(findings->lack) : json_null());
    free(findings);
}
