/*
 * The same in C++: a program that uses the queue, with instruments of its own; regions are left by exceptions, too.
 *
 *     mpicxx -std=c++11 -I. $(pkg-config --cflags mpit) solver.cc workqueue.o -o solver
 */
#define MPIT_CATEGORY_NAME "solver"
#include <mpit/instrument.h>

#include "workqueue.h"

#include <cstdio>
#include <stdexcept>

MPIT_COUNTER(solver_steps, "Steps of the solver.");
MPIT_AGGREGATE_DOUBLE(solver_residual, "Sum of the residuals.");
MPIT_REGION(solver_step, "One step.");

namespace solver {

MPIT_CONTROL_UNSIGNED(solver_limit, 8, 1, 1000, "Steps after which the solver gives up.");

struct gives_up : std::runtime_error {
    gives_up() : std::runtime_error("too many steps") {}
};

void step(unsigned long long number)
{
    mpit::scope region(::solver_step);
    mpit_add(&::solver_steps, 1);
    mpit_add_double(&::solver_residual, 0.5);
    workqueue_put(static_cast<int>(number));
    if (number >= mpit_control_unsigned(&solver_limit))
        throw gives_up();
}

} // namespace solver

namespace {

template <typename T> T value(const char *name, int kind)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int index, count;
    T result = -1;
    if (MPI_T_pvar_get_index(name, kind, &index) != MPI_SUCCESS)
        return result;
    /* A handle's own window begins when it is started; mpit_get and mpit_get_double read what was counted since ever. */
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count) == MPI_SUCCESS) {
        MPI_T_pvar_start(session, handle);
        try {
            for (unsigned long long i = 1;; i++)
                solver::step(i);
        } catch (const solver::gives_up &) {
        }
        MPI_T_pvar_read(session, handle, &result);
    }
    MPI_T_pvar_session_free(&session);
    return result;
}

} // namespace

int main(int argc, char **argv)
{
    int provided, index;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    bool loaded = MPI_T_pvar_get_index("solver_steps", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS;
    bool right = true;
    if (loaded) {
        right = value<unsigned long long>("solver_steps", MPI_T_PVAR_CLASS_COUNTER) == 8 &&
                value<double>("solver_residual", MPI_T_PVAR_CLASS_AGGREGATE) == 4.0 &&
                value<unsigned long long>("solver_step", MPI_T_PVAR_CLASS_COUNTER) == 8 &&
                mpit_get(&solver_steps) == 24 && mpit_get_double(&solver_residual) == 12.0;
    } else {
        try {
            for (unsigned long long i = 1;; i++)
                solver::step(i);
        } catch (const solver::gives_up &) {
        }
        right = mpit_get(&solver_steps) == 0;
    }
    std::printf("%s, mpit is %sloaded\n", right ? "right" : "wrong", loaded ? "" : "not ");
    MPI_T_finalize();
    MPI_Finalize();
    return right ? 0 : 1;
}
