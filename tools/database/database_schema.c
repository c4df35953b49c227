#include "database/database_schema.h"

#include "summarysql.h"

#include <stddef.h>

#define COLUMN(name, type, unit, text)                                                                                 \
    {                                                                                                                  \
        name, type, unit, text                                                                                         \
    }
#define NUMBER(name, text) COLUMN(name, "INTEGER", "", text)
#define COUNT(name, text) COLUMN(name, "INTEGER", "count", text)
#define BYTES(name, text) COLUMN(name, "INTEGER", "bytes", text)
#define NS(name, text) COLUMN(name, "INTEGER", "ns", text)
#define RATIO(name, text) COLUMN(name, "REAL", "ratio", text)
#define TEXT(name, text) COLUMN(name, "TEXT", "", text)
#define END COLUMN(NULL, NULL, NULL, NULL)
#define JOB NUMBER("job", "the job, as in jobs")
#define RANK NUMBER("rank", "rank in MPI_COMM_WORLD")
#define THREAD NUMBER("thread", "thread of the rank that called MPI: 0, 1, ...")

static const struct database_column about[] = {TEXT("name", "mpit, version, or run"), TEXT("value", "its value"), END};

static const struct database_column described[] = {
    TEXT("table_name", "name of a table"), TEXT("column_name", "name of its column. NULL: the table itself"),
    TEXT("unit", "ns, bytes, count, ratio, or empty"), TEXT("text", "what it means"), END};

static const struct database_column notes[] = {JOB, TEXT("table_name", "the table. NULL: the whole job"),
                                               TEXT("text", "why it is empty, or what it lacks"), END};

static const struct database_column jobs[] = {
    NUMBER("job", "number in this database: 1, 2, ..."),
    TEXT("number", "number of the job, in hexadecimal digits"),
    TEXT("program", "path of the program"),
    TEXT("mpi", "MPI library"),
    COUNT("world_size", "processes of the job"),
    COUNT("ranks", "processes with figures"),
    COUNT("ended_badly", "processes that did not reach MPI_Finalize"),
    TEXT("command", "command line of its first rank"),
    TEXT("user", "user who ran it"),
    NS("start_unix_ns", "begin of the first process, since 1970"),
    NS("run_ns", "longest time of a rank from the end of MPI_Init to the begin of MPI_Finalize"),
    NS("recorded_ns", "longest recorded time of a rank: run_ns without the time when recording was off"),
    RATIO("parallel_efficiency", "mean useful time / longest recorded time. With OpenMP: times openmp_efficiency"),
    RATIO("load_balance", "mean useful time / largest useful time"),
    RATIO("communication_efficiency", "largest useful time / longest recorded time"),
    RATIO("serialization", "part of the communication efficiency: waiting for each other"),
    RATIO("transfer", "part of the communication efficiency: the network"),
    BYTES("inside_bytes", "bytes of messages between ranks on one node"),
    BYTES("between_bytes", "bytes of messages between ranks on different nodes"),
    BYTES("better_between_bytes", "the same in the order of ranks.better_host. NULL: no better one was found"),
    RATIO("openmp_efficiency", "useful time of threads / their time outside of MPI. NULL: no OpenMP, or not known"),
    RATIO("openmp_serial", "part of it: serial parts"),
    RATIO("openmp_balance", "part of it: balance of threads in parallel regions"),
    RATIO("openmp_scheduling", "part of it: waits in turn, and starts of regions"),
    END};

static const struct database_column functions[] = {
    JOB,
    TEXT("function", "name of the MPI function"),
    TEXT("class", "p2p, completion, coll, comm, rma, io, process or other"),
    COUNT("count", "calls, of all ranks"),
    NS("time_ns", "time in these calls"),
    NS("stalled_ns", "part of it with nothing to do"),
    END};

static const struct database_column frames[] = {NUMBER("path", "the path, as in paths"),
                                                NUMBER("depth", "0: the innermost"),
                                                TEXT("function", "name of the function"),
                                                TEXT("file", "source file"),
                                                NUMBER("line", "line of the call"),
                                                TEXT("module", "program or library"),
                                                NUMBER("address", "return address in the file of the module"),
                                                NUMBER("inlined", "1: the compiler put it into the next function"),
                                                NUMBER("place", "1: the place of the call, past wrappers"),
                                                END};

static const struct database_column counters[] = {
    JOB,
    TEXT("counter", "name of the counter of the system or of PAPI"),
    TEXT("unit", "unit of the value"),
    TEXT("place", "where the threads were: outside of MPI, or in a class of calls"),
    COUNT("value", "count there, of all ranks"),
    END};

static const struct database_column phase_efficiencies[] = {
    JOB,
    TEXT("phase", "name, as in phases"),
    TEXT("kind", "phase or region"),
    COUNT("ranks", "ranks that were in it"),
    RATIO("parallel_efficiency", "mean useful time / longest time in it, over these ranks"),
    RATIO("load_balance", "mean useful time / largest useful time"),
    RATIO("communication_efficiency", "largest useful time / longest time in it"),
    END};

static const struct database_column parallel_regions[] = {
    JOB,
    TEXT("function", "function that it begins in"),
    TEXT("file", "source file"),
    NUMBER("line", "line there"),
    COUNT("count", "how often it was entered, of all ranks"),
    NS("time_ns", "time in it, of all ranks"),
    NS("imbalance_ns", "idle time of its threads, longer than of the thread that is idle for the shortest time"),
    NS("overhead_ns", "idle time that all of its threads have"),
    NS("serial_after_ns", "computation of one thread after it, until the next region"),
    END};

static const struct database_column findings[] = {
    JOB,
    NUMBER("finding", "number in the order of the summary: 1, 2, ..."),
    TEXT("rule", "name of the fault, as in --json"),
    TEXT("text", "what stands out, in a sentence"),
    TEXT("advice", "what people do about it"),
    NS("cost_ns", "run time that it costs at most"),
    RATIO("share_of_run", "the same / longest run time"),
    TEXT("ranks", "ranks that it is about, for json_each: [2,5]. NULL: none, or all"),
    NUMBER("path", "call path that it is about, as in paths"),
    END};

static const struct database_column calls[] = {
    NUMBER("call", "number, in the order of begin"),
    JOB,
    RANK,
    THREAD,
    TEXT("function", "name of the MPI function"),
    NS("begin_ns", "begin, since the job began"),
    NS("duration_ns", "from begin to return"),
    NS("stalled_ns", "part of it with nothing to do. NULL: not known"),
    NUMBER("communicator", "as in communicators"),
    NUMBER("path", "call path, as in paths"),
    NUMBER("peer", "other rank of the communicator: partner, root, or target"),
    TEXT("peer_kind", "if peer is NULL: any (wildcard), none (MPI_PROC_NULL), root (root of an inter-communicator)"),
    NUMBER("tag", "tag of the message. NULL: none, or any"),
    COUNT("messages_sent", "messages that it sent or posted"),
    BYTES("bytes_sent", "bytes sent, put or written, also in collectives"),
    COUNT("messages_received", "messages that were complete when it returned"),
    BYTES("bytes_received", "bytes likewise"),
    COUNT("requests", "of a wait or test: requests that it was given"),
    COUNT("completed", "of a wait or test: requests that it completed"),
    NUMBER("object", "window or file: the n-th that was made on the communicator"),
    NUMBER("collective", "the operation that it began, as in collectives"),
    NUMBER("nested", "1: inside of another recorded call"),
    NUMBER("failed", "1: it returned an error"),
    END};

static const struct database_column messages[] = {
    NUMBER("message", "number"),
    JOB,
    NUMBER("communicator", "as in communicators"),
    NUMBER("sender", "rank in MPI_COMM_WORLD that sent it"),
    NUMBER("receiver", "rank in MPI_COMM_WORLD that received it"),
    NUMBER("tag", "tag"),
    BYTES("bytes", "bytes that were sent"),
    NUMBER("send_call", "call that sent or posted it, as in calls"),
    NUMBER("post_call", "call that received it, or posted the receive"),
    NUMBER("receive_call", "call at whose return it was received. NULL: not known"),
    NS("sent_ns", "begin of send_call, since the job began"),
    NS("posted_ns", "begin of post_call"),
    NS("received_ns", "return of receive_call. NULL: not known"),
    END};

static const struct database_column collectives[] = {
    NUMBER("collective", "number of the operation, on all of its ranks"),
    JOB,
    NUMBER("communicator", "as in communicators"),
    TEXT("function", "MPI function of the rank that came first"),
    COUNT("size", "ranks of the communicator"),
    COUNT("arrived", "ranks that came"),
    NUMBER("complete", "1: all ranks came, with the same operation"),
    NS("first_ns", "when the first rank came, since the job began"),
    NS("last_ns", "when the last rank came"),
    NUMBER("last_rank", "that rank, in MPI_COMM_WORLD"),
    NS("waited_ns", "time that all ranks waited for others"),
    END};

static const struct database_column waits[] = {JOB,
                                               TEXT("pattern", "kind of the wait, as in --analyze --json"),
                                               RANK,
                                               NUMBER("call", "call that waited, as in calls"),
                                               TEXT("function", "its MPI function"),
                                               NUMBER("communicator", "as in communicators"),
                                               NUMBER("path", "call path of the call, as in paths"),
                                               NS("begin_ns", "begin of the wait, since the job began"),
                                               NS("wait_ns", "how long it waited"),
                                               NUMBER("cause_rank", "rank in MPI_COMM_WORLD that it waited for"),
                                               NUMBER("cause_call", "the late call of that rank, as in calls"),
                                               END};

static const struct database_column segments[] = {JOB,
                                                  NUMBER("from_path", "path of the call before, as in paths"),
                                                  NUMBER("to_path", "path of the next call, as in paths"),
                                                  RANK,
                                                  COUNT("count", "how often the rank computed between these calls"),
                                                  NS("time_ns", "how long in all"),
                                                  NS("critical_ns", "part of it on the critical path. NULL: not known"),
                                                  NS("caused_ns", "waits of other ranks for this rank after it"),
                                                  END};

static const struct database_column counted[] = {
    NUMBER("call", "the call, as in calls"),
    TEXT("counter", "name of the counter, as in counters"),
    TEXT("function", "MPI function that `inside` belongs to. Usually of the call itself. NULL: none"),
    COUNT("inside", "count inside of it"),
    COUNT("outside", "count outside of MPI, since the call before"),
    END};

static const struct database_column samples[] = {JOB,
                                                 NUMBER("rank", "rank in MPI_COMM_WORLD. NULL: it has none"),
                                                 NUMBER("thread", "thread. NULL: it has not called MPI"),
                                                 NUMBER("tid", "number of the thread in the system"),
                                                 NS("at_ns", "when, since the job began"),
                                                 NS("weight_ns", "time that the sample represents"),
                                                 NS("cpu_ns", "part of it on a processor"),
                                                 TEXT("state", "state of MPI in the thread"),
                                                 TEXT("function", "MPI function. NULL: outside of MPI"),
                                                 NUMBER("path", "its stack, as in paths"),
                                                 END};

const struct database_table_text database_tables[DATABASE_TABLES] = {
    [TABLE_ABOUT] = {"about", "this database", NULL, about},
    [TABLE_DESCRIBED] = {"described", "what each table and column means", NULL, described},
    [TABLE_NOTES] = {"notes", "why a table is empty, or what it lacks", NULL, notes},
    [TABLE_JOBS] = {"jobs", "one row a job (MPI_COMM_WORLD)", "job", jobs},
    [TABLE_RANKS] = {"ranks", "one row a process", NULL, ranks_columns},
    [TABLE_FUNCTIONS] = {"functions", "one row an MPI function, over all ranks", "job, function", functions},
    [TABLE_COMMUNICATORS] =
        {"communicators",
         "one row a communicator, over all ranks. If counters are NULL, another row counts them as well",
         "communicator", communicators_columns},
    [TABLE_PATHS] = {"paths",
                     "one row a call path, over all ranks. If counters are NULL, another row counts them as well",
                     "path", paths_columns},
    [TABLE_FRAMES] = {"frames", "the functions on a path, from the innermost to main", "path, depth", frames},
    [TABLE_COUNTERS] = {"counters", "counters of the system and of PAPI, over all ranks", "job, counter, place",
                        counters},
    [TABLE_PHASES] = {"phases", "one row a phase of MPI_Pcontrol, or a region of another library, and rank", NULL,
                      phases_columns},
    [TABLE_PHASE_EFFICIENCIES] = {"phase_efficiencies", "one row a phase or region, over its ranks", "job, kind, phase",
                                  phase_efficiencies},
    [TABLE_NODE_TRAFFIC] = {"node_traffic", "one row a node and a node that it sent messages to, or itself",
                            "job, from_host, to_host", node_traffic_columns},
    [TABLE_PARALLEL_REGIONS] = {"parallel_regions", "one row a parallel region of OpenMP, over all ranks", NULL,
                                parallel_regions},
    [TABLE_FINDINGS] = {"findings", "one row a fault that stands out in the summary", "job, finding", findings},
    [TABLE_CALLS] = {"calls", "one row an MPI call. Needs a trace", "call", calls},
    [TABLE_MESSAGES] = {"messages", "one row a message whose send and receive are known. Needs a trace", "message",
                        messages},
    [TABLE_COLLECTIVES] = {"collectives", "one row a collective operation of several ranks. Needs a trace",
                           "collective", collectives},
    [TABLE_WAITS] = {"waits", "one row a call that waited for another rank. Needs a trace", NULL, waits},
    [TABLE_SEGMENTS] = {"segments", "computation between two calls of a rank, by path. Needs a trace",
                        "from_path, to_path, rank", segments},
    [TABLE_COUNTED] = {"counted", "counters of the system and of PAPI at each call. Needs a trace", NULL, counted},
    [TABLE_SAMPLES] = {"samples", "one row a sample. Needs mpit-run --sample", NULL, samples},
};
