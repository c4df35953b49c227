/*
 * badtables PLUGIN: is busy in a function of a library, half a second long. The library is this file, too, with
 * -DPLUGIN.
 */
#include <time.h>

#ifdef PLUGIN
int busy(void);

static __attribute__((noinline)) double spin(double seconds)
{
    struct timespec begin, now;
    volatile double sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 10000; i++)
            sum += i;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
    return sum;
}

int busy(void)
{
    return spin(0.5) > 0;
}
#else
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*busy)(void) = library ? (int (*)(void))dlsym(library, "busy") : NULL;
    if (busy && busy())
        puts("done");
    MPI_Finalize();
    return 0;
}
#endif
