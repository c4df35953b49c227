#include "recorder/environment.h"

#include "counters/counters.h"
#include "settings/filter.h"
#include "thread/log.h"
#include "native.h"
#include "recorder/opening.h"
#include "sampler/sampler.h"
#include "settings/settings.h"
#include "site/setting.h"

#include <stdlib.h>
#include <string.h>

/* Warns, unless the user has set that variable, and so knows it. */
static void local_calls_tell(void)
{
    char word[FILTER_WORD_BYTES];
    if (!knob_load(KNOB_RECORD_LOCAL_CALLS) && !setting("MPIT_RECORD_LOCAL_CALLS") &&
        filter_wants_local(book.run.header->filter, word))
        opened_say("mpit: MPIT_FILTER: '%s' selects only local functions, which are not recorded; set "
                   "MPIT_RECORD_LOCAL_CALLS=1 to record them",
                   word);
}

/* Warns if another MPI's launcher started the processes, so that each is alone. */
static void launcher_tell(void)
{
    static const char *const names[][3] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "Open MPI"},
                                           {"PMI_SIZE", "PMI_RANK", "MPICH"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && book.run.header->world_size == 1; i++) {
        const char *size = getenv(names[i][0]), *rank = getenv(names[i][1]);
        if (size && rank && atoi(size) > 1 && atoi(rank) == 0 && strcmp(names[i][2], native_family()) != 0) {
            opened_say("mpit: the launcher of %s started %s processes, but the program is linked to %s: each process "
                       "is a separate job of one process",
                       names[i][2], size, native_family());
            return;
        }
    }
}

void environment_tell(const struct opened *opened)
{
    settings_tell(opened_say);
    if (opened->problem[0])
        opened_say("mpit: %s; nothing is written", opened->problem);
    counters_tell(opened_say);
    if (opened->trace_refused && !opened->problem[0])
        opened_say("mpit: MPIT_TRACE needs MPIT_OUTPUT, the output directory; no trace is written");
    if (opened->samples_refused && !opened->problem[0] && !book.run.said)
        opened_say("%s", sampler_is_guarded()
                             ? "mpit: MPIT_SAMPLE_HZ needs MPIT_OUTPUT, the output directory; no samples are taken"
                             : "mpit: MPIT_SAMPLE_HZ needs libmpit-sampler.so in LD_PRELOAD, before libmpit.so; no "
                               "samples are taken. mpit-run --sample sets both.");
    if (knob_load(KNOB_TRACE) == 1 && knob_load(KNOB_TIMING) != 1)
        opened_say("mpit: MPIT_TIMING is ignored while a trace is written: a trace needs the time of every call");
    local_calls_tell();
    launcher_tell();
}
