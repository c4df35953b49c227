/*
 * What variables there are, and what a test does with them whichever they are.
 */
#ifndef SURVEY_H
#define SURVEY_H

#include "conformance.h"

enum { NAME_MOST = 512, VALUES_MOST = 1024 };

struct pvar {
    int index;
    char name[NAME_MOST];
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    bool own; /* mpit's */
};

/* The variables that MPI_T_pvar_get_info describes, one by one; NULL after the last. */
const struct pvar *pvar_next(const struct pvar *before);
#define EACH_PVAR(p) for (const struct pvar *p = pvar_next(NULL); p; p = pvar_next(p))

/* The first with that name and class, or NULL; class -1: any. */
const struct pvar *pvar_named(const char *name, int class);

/*
 * A handle that is bound to MPI_COMM_WORLD if it has to be bound. False where there is none to be had: the object is of
 * another type, the variable is not active, or it is one that is known to crash Open MPI here (stockfaults.c has that).
 */
bool pvar_handle(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle *handle, int *count);

/* Bytes of an element, 0 for a type that MPI_T does not know. */
size_t type_bytes(MPI_Datatype type);
double type_value(MPI_Datatype type, const void *values, int at);

/* A handle's values, as doubles; the code of MPI_T_pvar_read. */
int pvar_values(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count,
                double values[VALUES_MOST]);
/* Their sum, NAN if they cannot be read. */
double pvar_sum(const struct pvar *pvar, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count);

/* Calls of every sort: `rounds` messages of 64 bytes to this process and collectives, on MPI_COMM_WORLD. */
void traffic(int rounds);

/* Is it a COUNTER, AGGREGATE or TIMER? */
bool pvar_sums(const struct pvar *pvar);
/* Is it one of these that can be started, and grows by what traffic() does? */
bool pvar_counts(const struct pvar *pvar);
#define EACH_COUNTING_PVAR(p)                                                                                          \
    EACH_PVAR(p)                                                                                                       \
        if (pvar_counts(p))

MPI_T_pvar_session session_new(void);

typedef bool pvar_choice(const struct pvar *);
typedef void handle_judge(const struct pvar *p, MPI_T_pvar_session session, MPI_T_pvar_handle handle, int count);

/* Calls judge for each such variable that can be bound here, with a handle of it in a session of its own. */
void each_handle(pvar_choice *is_such, const char *what, handle_judge *judge);

/* A test of each variable `p` for which the condition holds. Without one that can be bound here it does not apply. */
#define PVAR_TEST(name, section, sentence, condition, what)                                                            \
    static bool name##_is_such(const struct pvar *p __attribute__((unused)))                                           \
    {                                                                                                                  \
        return condition;                                                                                              \
    }                                                                                                                  \
    static handle_judge name##_of;                                                                                     \
    TEST(name, RUNNING, section, sentence)                                                                             \
    {                                                                                                                  \
        each_handle(name##_is_such, what, name##_of);                                                                  \
    }                                                                                                                  \
    static void name##_of(__attribute__((unused)) const struct pvar *p,                                                \
                          __attribute__((unused)) MPI_T_pvar_session session,                                          \
                          __attribute__((unused)) MPI_T_pvar_handle handle, __attribute__((unused)) int count)
#define COUNTING "variable that counts what this program does"

/* The calls that use a handle, by their names without MPI_T_pvar_. */
enum use { USE_FREE, USE_START, USE_STOP, USE_READ, USE_WRITE, USE_RESET, USE_READRESET, USES };
extern const char *const use_names[USES];
int handle_use(enum use use, MPI_T_pvar_session session, MPI_T_pvar_handle handle);

/* One call with a handle of each variable `p` for which the condition holds, and its code. `in`: its session, `own`, or
 * another. */
#define USE_TEST(test, sentence, condition, what, use, in, code)                                                       \
    PVAR_TEST(test, "15.3.7", sentence, condition, what)                                                               \
    {                                                                                                                  \
        MPI_T_pvar_session own __attribute__((unused)) = session;                                                      \
        EXPECT_CODE(handle_use(use, in, handle), code, "%s, call MPI_T_pvar_%s", p->name, use_names[use]);             \
    }

/* Skips the test unless there were such variables. */
void some(int found, const char *what);

bool is_verbosity(int verbosity);
bool is_bind(int bind);

#endif
