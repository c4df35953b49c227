/*
 * mpit-list: the performance and control variables that an MPI shows with mpit loaded.
 */
#include "run/installation.h"
#include "list/listing.h"
#include "base/options.h"
#include "job/jsonvalue.h"
#include "job/valuelist.h"

#include <err.h>
#include <getopt.h>
#include <stdlib.h>

struct request {
    struct listing_choice choice;
    enum mpi_abi abi;
    bool native, json;
    const char *run;  /* NULL: variables of an MPI */
    char **libraries; /* NULL at the end */
    size_t library_count;
};

static struct request request = {.abi = ABI_NONE};

static const struct tool_option options[] = {
    {"mpi", "NAME", 'm', "openmpi or mpich (default: each MPI that mpit was built for)", NULL},
    {"pvars", NULL, 'p', "performance variables only", &request.choice.pvars},
    {"cvars", NULL, 'c', "control variables only", &request.choice.cvars},
    {"load", "FILE", 'l', "load a library with its own variables first (needs --mpi)", NULL},
    {"native", NULL, 'n', "list without mpit: only the variables of the MPI library", &request.native},
    {"run", "RUN", 'r',
     "list the variables of a run instead, with their values by process\n"
     "(the job must have kept its files: trace, MPIT_REDUCE=0, no MPI)",
     &request.run},
    {"json", NULL, 'j', "as JSON", &request.json},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-list " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-list [options] [PATTERN]\n"
            "Lists the MPI_T variables of the MPI library and of mpit, as a program with mpit\n"
            "sees them. PATTERN is a shell pattern for their names. See man mpit-list.\n"
            "\n",
    .options = options,
    .column = 15,
    .tail = "\n"
            "Counts of communicator variables are for MPI_COMM_WORLD. \"-\": count unknown,\n"
            "because handles of native variables can crash the MPI library.\n"
            "\n"
            "Example:  mpit-list --mpi mpich --pvars 'mpit_send*'\n"
            "          mpit-list --run mpit-run-20261122-1 'mpit_fabric*'\n",
};

static void list_options_read(int argc, char *argv[])
{
    request.libraries = calloc((size_t)argc + 1, sizeof *request.libraries);
    if (!request.libraries)
        err(1, "no memory");
    for (int option; (option = command_line_next(&command_line, argc, argv)) != -1;) {
        if (option == 'l')
            request.libraries[request.library_count++] = optarg;
        else if ((request.abi = mpi_abi_named(optarg)) == ABI_NONE)
            usage_reject("--mpi: allowed are %s, not '%s'", mpi_abi_choices(), optarg);
    }
    if (optind + 1 < argc)
        usage_reject("more than one pattern is given ('%s'); allowed is one", argv[optind + 1]);
    if (request.library_count && request.abi == ABI_NONE)
        usage_reject("--load needs --mpi, with the MPI that %s is linked to", request.libraries[0]);
    if (request.run && (request.abi != ABI_NONE || request.native || request.library_count || request.choice.cvars ||
                        request.choice.pvars))
        usage_reject("--run cannot be combined with --mpi, --pvars, --cvars, --load and --native");
    request.choice.pattern = argv[optind];
    if (!request.choice.pvars && !request.choice.cvars)
        request.choice.pvars = request.choice.cvars = true;
}

/* Asks the selected MPIs. *status becomes 1 if one did not answer. */
static json_t *listings_ask(int *status)
{
    json_t *listings = json_array();
    size_t built = 0;
    for (int abi = ABI_FIRST; abi <= ABI_LAST; abi++) {
        char path[PATH_MAX], error[512];
        if (request.abi == ABI_NONE ? !installed_walker((enum mpi_abi)abi, path) : request.abi != (enum mpi_abi)abi)
            continue;
        built++;
        json_t *listing = listing_ask((enum mpi_abi)abi, request.native, request.libraries, error);
        if (listing)
            json_array_append_new(listings, listing);
        else
            warnx("%s", error);
        *status |= !listing;
    }
    if (!built)
        errx(1,
             "no MPI found: this mpit was built without an MPI, or no package mpit-NAME is installed (no "
             "mpit-list-walk-NAME; NAME is %s)",
             mpi_abi_choices());
    return listings;
}

/* Returns the exit status. */
static int run_show(void)
{
    char error[512];
    json_t *list = value_list(request.run, request.choice.pattern, error);
    if (!list)
        errx(1, "%s", error);
    size_t count = json_array_size(list);
    if (request.json)
        json_show(json_pack("{s:i, s:O}", "version", 1, "variables", list), 0, "the list");
    else
        value_list_print(list, stdout);
    if (!count && request.choice.pattern)
        warnx("no variable of %s matches '%s'", request.run, request.choice.pattern);
    json_decref(list);
    output_close();
    return count || !request.choice.pattern ? 0 : 1;
}

int main(int argc, char *argv[])
{
    int status = 0;
    list_options_read(argc, argv);
    if (request.run)
        return run_show();
    json_t *listings = listings_ask(&status);
    size_t variables = 0;
    for (size_t i = 0; i < json_array_size(listings); i++)
        variables += listing_choose(json_array_get(listings, i), &request.choice);
    if (request.json) {
        json_show(json_pack("{s:i, s:O}", "version", 1, "mpis", listings), 0, "the list");
    } else {
        for (size_t i = 0; i < json_array_size(listings); i++) {
            if (i > 0)
                putchar('\n');
            listing_print(json_array_get(listings, i), stdout);
        }
    }
    if (!variables && request.choice.pattern && json_array_size(listings)) {
        warnx("no variable matches '%s'", request.choice.pattern);
        status = 1;
    }
    json_decref(listings);
    free(request.libraries);
    output_close();
    return status;
}
