/*
 * Says at the end of a process that it used MPI past this library.
 *
 * A function that the program looks up in the handle of a library (dlsym), or that a library loaded with RTLD_DEEPBIND
 * calls, is the MPI library's own, whatever is preloaded. Nothing is called here then, so that only the end of the
 * process is left to notice it: MPI was initialized, and MPI_Init did not come by.
 */
#include "native.h"
#include "recorder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t process; /* not its children: what they inherit was told by the parent */

__attribute__((constructor)) static void process_note(void)
{
    process = getpid();
}

/* One line for a job, as far as the launcher tells who is who. */
static bool is_first(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]))
            return strcmp(getenv(names[i]), "0") == 0;
    return true;
}

__attribute__((destructor)) static void unseen_tell(void)
{
    if (recorder_came_by() || getenv("MPIT_DISABLE") || getpid() != process || !native_used_unseen() || !is_first())
        return;
    native_say("mpit: the program found MPI's functions with dlsym in a library that it loaded, or bound them with "
               "RTLD_DEEPBIND; such calls cannot be seen, and nothing is recorded. dlsym(RTLD_DEFAULT, ...) finds "
               "functions that are recorded.");
}
