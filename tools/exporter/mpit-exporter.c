/*
 * mpit-exporter: the figures of running jobs on this node, of one user or of all users, as metrics over HTTP.
 *
 *   client ── GET /metrics ──> httpserver ──> page_make ── live_look ──> observation_take ──> metrics_make ──> text
 *
 * One thread. If no client asks for a while, the exporter looks by itself, so that it closes files of ended processes.
 */
#include "exporter/httpserver.h"
#include "base/processlife.h"
#include "live/livefind.h"
#include "exporter/metrics.h"
#include "base/options.h"
#include "base/systemclock.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LISTEN_DEFAULT "127.0.0.1:16748"

enum { IDLE_LOOK_MS = 10000, SERIES_DEFAULT = 10000, COMMS_DEFAULT = 16, LINGER_DEFAULT = 120, NUMBER_MOST = 10000000 };

struct request {
    const char *listen;
    bool once, all_users;
    const char *token_file;
    const char **hosts; /* as many as there are words in the command line, at most */
    size_t host_count;
    struct metrics_choice metrics;
    struct observation_choice observation;
};

static struct request request = {
    .metrics = {.by = BY_RANK, .series_most = SERIES_DEFAULT},
    .observation = {.comms_most = COMMS_DEFAULT, .linger_ns = LINGER_DEFAULT * UINT64_C(1000000000)}};

static const struct tool_option options[] = {
    {"listen", "ADDRESS:PORT", 'l',
     "where (default " LISTEN_DEFAULT "; port 0: a free one,\n"
     "printed), or unix:PATH, a socket",
     &request.listen},
    {"host", "NAME", 'n', "allow clients to use this host name, too", NULL},
    {"token-file", "FILE", 't', "clients must send the token in FILE", &request.token_file},
    {"by", "WHAT", 'b',
     "a series for each job, each rank (default), or each\n"
     "rank and communicator: comm",
     NULL},
    {"communicators", "N", 'c',
     "with --by comm: at most N communicators of a rank, the\n"
     "others as \"other\" (default 16)",
     NULL},
    {"variables", "LIST", 'p',
     "names of variables: shell patterns, separated by\n"
     "commas; !PATTERN excludes",
     &request.observation.patterns},
    {"all-sizes", NULL, 'a', "a bucket for each power of two, not for each second one", &request.metrics.all_sizes},
    {"max-series", "N", 'm', "at most N series (default 10000)", NULL},
    {"own", NULL, 'w', NULL, NULL},
    {"all-users", NULL, 'u', "jobs of this user only, or of all users (root: default)", NULL},
    {"linger", "SECONDS", 'g', "keep the values of ended processes (default 120)", NULL},
    {"once", NULL, 'o', "print the metrics instead", &request.once},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-exporter " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-exporter [options] [RUN...]\n"
            "Exports the variables of running MPI jobs on this node as metrics for\n"
            "Prometheus (OpenMetrics) over HTTP. Finds the jobs automatically; RUN (a run\n"
            "directory or file) selects jobs instead. See man mpit-exporter.\n"
            "\n",
    .options = options,
    .column = 25,
    .tail = "\n"
            "Example:  mpit-exporter --listen 0.0.0.0:16748 --variables 'mpit_*_time'\n"
            "          mpit-exporter --once --by job\n",
};

struct exporter {
    struct live live;
    struct observation observation;
    struct metrics_choice choice;
    struct exporter_facts facts;
    char told[512]; /* the last problem that was reported */
};

/* ---- the command line -------------------------------------------------------------------------------------------- */

static size_t option_number_read(const char *option, const char *text)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number > NUMBER_MOST)
        usage_reject("%s: allowed are numbers from 0 to %d, not '%s'", option, NUMBER_MOST, text);
    return number;
}

static enum metrics_by by_read(const char *text)
{
    static const char *const names[] = {[BY_JOB] = "job", [BY_RANK] = "rank", [BY_COMM] = "comm"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum metrics_by)i;
    usage_reject("--by: '%s' cannot be used; allowed are job, rank and comm", text);
}

static void option_take(int option)
{
    switch (option) {
    case 'n':
        request.hosts[request.host_count++] = optarg;
        break;
    case 'b':
        request.metrics.by = by_read(optarg);
        break;
    case 'c':
        request.observation.comms_most = option_number_read("--communicators", optarg);
        break;
    case 'm':
        request.metrics.series_most = option_number_read("--max-series", optarg);
        break;
    case 'g':
        request.observation.linger_ns = option_number_read("--linger", optarg) * UINT64_C(1000000000);
        break;
    default:
        request.all_users = option == 'u';
        break;
    }
}

static void exporter_options_read(int argc, char *argv[])
{
    request.all_users = geteuid() == 0;
    request.hosts = calloc((size_t)argc, sizeof(char *));
    if (!request.hosts)
        errx(1, "out of memory");
    for (int option; (option = command_line_next(&command_line, argc, argv)) != -1;)
        option_take(option);
    if (request.once && request.listen)
        usage_reject("--once and --listen cannot be combined");
    char host[ADDRESS_TEXT_BYTES], port[8];
    if (!request.listen)
        request.listen = LISTEN_DEFAULT;
    if (!http_address_path(request.listen) && !http_address_split(request.listen, host, port))
        usage_reject(
            "--listen: '%s' cannot be used; allowed are ADDRESS:PORT, [ADDRESS]:PORT of IPv6, PORT, and unix:PATH",
            request.listen);
    request.observation.by_comm = request.metrics.by == BY_COMM;
    request.observation.named = optind < argc;
    request.metrics.shared = request.all_users && !request.observation.named;
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* Reports a problem, but not the same one again. */
static void problem_tell(struct exporter *exporter, const char *problem)
{
    if (problem[0] && strcmp(problem, exporter->told) != 0)
        warnx("%s", problem);
    snprintf(exporter->told, sizeof exporter->told, "%s", problem);
}

static bool exporter_look(struct exporter *exporter)
{
    char error[512] = "";
    uint64_t begin = monotonic_ns();
    exporter->observation.problem[0] = '\0';
    if (live_look(&exporter->live, error) != 0)
        exporter->observation.looks_failed++;
    bool taken = observation_take(&exporter->observation, &exporter->live) == 0;
    problem_tell(exporter, error[0] ? error : exporter->observation.problem);
    exporter->facts.users_cut = exporter->live.finder->users_cut;
    exporter->facts.look_ns = monotonic_ns() - begin;
    return taken;
}

/* Returns false without memory. */
static bool metrics_text_write(struct exporter *exporter, struct textbuffer *to)
{
    struct exposition exposition = {0};
    exporter->facts.scrapes++;
    bool written = exporter_look(exporter);
    if (written) {
        metrics_make(&exposition, &exporter->observation, &exporter->choice, &exporter->facts);
        written = exposition_write(&exposition, to);
    }
    exposition_free(&exposition);
    return written;
}

static struct page page_of(unsigned status, const char *type, const char *body)
{
    char *copy = strdup(body);
    return (struct page){status, type, copy, copy ? strlen(copy) : 0};
}

static struct page page_make(void *context, const char *path)
{
    static const char front[] = "<!DOCTYPE html>\n<html lang=\"en\"><head><title>mpit-exporter</title></head><body>\n"
                                "<h1>mpit-exporter " MPIT_VERSION "</h1>\n"
                                "<p>Variables of the MPI jobs on this node: <a href=\"/metrics\">metrics</a></p>\n"
                                "</body></html>\n";
    struct textbuffer text = {0};
    if (strcmp(path, "/") == 0)
        return page_of(200, "text/html; charset=utf-8", front);
    if (strcmp(path, "/metrics") != 0)
        return page_of(404, "text/plain; charset=utf-8", "not found; this server has only /metrics\n");
    if (metrics_text_write(context, &text))
        return (struct page){200, OPENMETRICS_TYPE, text.bytes, text.used};
    text_free(&text);
    return page_of(500, "text/plain; charset=utf-8", "out of memory\n");
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

/* Makes SIGTERM and SIGINT readable from a descriptor. */
static int signals_open(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &ends, NULL) != 0)
        return -1;
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void server_open(struct http_server *server)
{
    char error[512];
    if (request.token_file && http_token_read(&server->access, request.token_file, error) != 0)
        errx(1, "%s", error);
    if (http_open(server, request.listen, error) != 0)
        errx(1, "%s", error);
    if (!server->loopback && !request.token_file)
        warnx("%s can be reached from other nodes, without a password", server->address);
    if (http_address_path(server->address))
        printf("%s\n", server->address);
    else
        printf("http://%s/metrics\n", server->address);
    fflush(stdout);
}

static void serve(struct exporter *exporter)
{
    struct http_server server = {
        .answer = page_make, .context = exporter, .access = {.hosts = request.hosts, .host_count = request.host_count}};
    int signals = signals_open();
    if (signals < 0)
        err(1, "waiting for signals failed");
    server_open(&server);
    struct pollfd waits[] = {{.fd = signals, .events = POLLIN}, {.fd = http_descriptor(&server), .events = POLLIN}};
    uint64_t scrapes = 0, looked = monotonic_ns();
    while (!waits[0].revents) {
        if (poll(waits, 2, http_timeout(&server, IDLE_LOOK_MS)) < 0 && errno != EINTR)
            err(1, "poll");
        http_run(&server);
        uint64_t now = monotonic_ns();
        if (scrapes == exporter->facts.scrapes && (now - looked) / 1000000 >= IDLE_LOOK_MS)
            exporter_look(exporter);
        else if (scrapes == exporter->facts.scrapes)
            continue;
        scrapes = exporter->facts.scrapes;
        looked = now;
    }
    http_close(&server);
    close(signals);
}

static void print_once(struct exporter *exporter)
{
    struct textbuffer text = {0};
    if (!metrics_text_write(exporter, &text))
        errx(1, "out of memory");
    fwrite(text.bytes, 1, text.used, stdout);
    text_free(&text);
    output_close();
    const struct observation *seen = &exporter->observation;
    /* already reported: a named run does not exist, or cannot be read */
    if (seen->looks_failed || (seen->choice.named && seen->unreadable_now))
        exit(1);
}

int main(int argc, char *argv[])
{
    static struct exporter exporter; /* its table of metrics is large */
    exporter_options_read(argc, argv);
    exporter.observation.choice = request.observation;
    exporter.choice = request.metrics;
    exporter.facts.start_ns = realtime_now();
    if (live_files_open(&exporter.live, (const char *const *)argv + optind, (size_t)(argc - optind)) != 0)
        errx(1, "out of memory");
    if (request.all_users)
        live_of_all_users(&exporter.live);
    if (request.once)
        print_once(&exporter);
    else
        serve(&exporter);
    live_close(&exporter.live);
    observation_free(&exporter.observation);
    free(request.hosts);
    return 0;
}
