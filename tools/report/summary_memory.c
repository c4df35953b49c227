#include "report/summary_memory.h"

#include "base/units.h"
#include "calls.h"
#include "report/summary_sites.h"

static void peak_print(const struct summary *summary, FILE *out)
{
    const struct summary_row *most = NULL;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], rank[UNIT_TEXT_BYTES], place[SITE_PLACE_BYTES];
    double sum = 0, ranks = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        sum += (double)row->memory.peak_bytes;
        ranks += row->memory.peak_bytes > 0;
        if (row->memory.peak_bytes && (!most || row->memory.peak_bytes > most->memory.peak_bytes))
            most = row;
    }
    if (!most)
        return;
    fprintf(out, "  memory     %s at most, on rank %s", text_of_bytes(a, most->memory.peak_bytes),
            text_of_rank(rank, most->rank));
    if (ranks > 1)
        fprintf(out, "; mean of ranks %s", text_of_bytes(b, whole_of(sum / ranks)));
    const struct summary_site *site =
        most->memory.peak_site ? summary_site_of(&summary->sites, most->memory.peak_site) : NULL;
    if (site)
        fprintf(out, "\n             first seen before %s (%s)", call_table[site->kind].name,
                site_place_text(&summary->sites, site, place));
    fputc('\n', out);
}

static void growth_print(const struct summary *summary, FILE *out)
{
    const struct summary_row *most = NULL;
    char a[UNIT_TEXT_BYTES], rank[UNIT_TEXT_BYTES];
    size_t ranks = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        ranks += row->memory.grown_ns > 0;
        if (row->memory.grown_ns && (!most || row->memory.grown_bytes > most->memory.grown_bytes))
            most = row;
    }
    if (!most)
        return;
    double seconds = (double)most->memory.grown_ns * 1e-9;
    fprintf(out, "             still grows in the second half of the run on %zu rank%s, most on rank %s: %s a second\n",
            ranks, ranks == 1 ? "" : "s", text_of_rank(rank, most->rank),
            text_of_bytes(a, whole_of((double)most->memory.grown_bytes / seconds)));
}

static uint64_t moved_by(const struct summary_row *row, bool written)
{
    return written ? row->memory.written_bytes : row->memory.read_bytes;
}

static void files_print(const struct summary *summary, bool written, FILE *out)
{
    const struct summary_row *most = NULL;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], rank[UNIT_TEXT_BYTES];
    double bytes = 0, calls = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        if (!row->memory.files_known)
            continue;
        bytes += (double)moved_by(row, written);
        calls += (double)(written ? row->memory.writes : row->memory.reads);
        if (!most || moved_by(row, written) > moved_by(most, written))
            most = row;
    }
    if (!most)
        return;
    fprintf(out, "  %-10s %s in %s system calls", written ? "written" : "read", text_of_bytes(a, whole_of(bytes)),
            text_of_count(b, whole_of(calls)));
    if (summary->row_count > 1 && moved_by(most, written))
        fprintf(out, ", most by rank %s: %s", text_of_rank(rank, most->rank),
                text_of_bytes(c, moved_by(most, written)));
    fputc('\n', out);
}

void summary_memory_print(const struct summary *summary, FILE *out)
{
    bool known = false;
    for (size_t i = 0; i < summary->row_count; i++)
        known |= summary->rows[i].memory.peak_bytes || summary->rows[i].memory.files_known;
    if (!known)
        return;
    fprintf(out, "\nMemory and files\n");
    peak_print(summary, out);
    growth_print(summary, out);
    files_print(summary, false, out);
    files_print(summary, true, out);
}
