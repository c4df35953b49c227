#include "fakeopal.h"

enum { MOST = 4 };

static progress_function functions[MOST], low[MOST];
static unsigned polls;

static int add(progress_function *table, progress_function function)
{
    for (int i = 0; i < MOST; i++)
        if (!table[i]) {
            table[i] = function;
            return 0;
        }
    return -1;
}

int opal_progress_register(progress_function function)
{
    return add(functions, function);
}

int opal_progress_register_lp(progress_function function)
{
    return add(low, function);
}

int opal_progress_unregister(progress_function function)
{
    for (int i = 0; i < MOST; i++)
        if (functions[i] == function) {
            functions[i] = 0;
            return 0;
        }
    return -1;
}

void opal_progress(void)
{
    for (int i = 0; i < MOST; i++)
        if (functions[i])
            functions[i]();
    for (int i = 0; polls % 8 == 0 && i < MOST; i++)
        if (low[i])
            low[i]();
    polls++;
}

int ompi_sync_wait_mt(void *sync)
{
    return sync ? 1 : 0;
}
