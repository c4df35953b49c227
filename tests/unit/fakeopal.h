/* A progress engine as Open MPI's: what it asks at each poll, and what at each eighth. */
#ifndef MPIT_TESTS_FAKEOPAL_H
#define MPIT_TESTS_FAKEOPAL_H

typedef int (*progress_function)(void);

void opal_progress(void);
int opal_progress_register(progress_function function);
int opal_progress_register_lp(progress_function function);
int opal_progress_unregister(progress_function function);
int ompi_sync_wait_mt(void *sync);

#endif
