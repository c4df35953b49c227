/*
 * A library of the program's own with names that ISO C and POSIX leave to it: they are no functions of the C library's,
 * and take other arguments. As a library (-DLIBRARY) and as the program.
 */
#ifdef LIBRARY
#include <pthread.h>
#include <stdlib.h>

int *tee(int *from, int *to)
{
    *to = *from + 1;
    return to;
}

/* As tinycthread has it: 1 is success. */
int thrd_create(pthread_t *thread, int (*routine)(void *), void *argument)
{
    return pthread_create(thread, NULL, (void *(*)(void *))(void *)routine, argument) == 0;
}
#else
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>

extern int *tee(int *from, int *to);
extern int thrd_create(pthread_t *thread, int (*routine)(void *), void *argument);

static int counts(void *argument)
{
    return ++*(int *)argument;
}

int main(int argc, char *argv[])
{
    int one = 1, two = 0, good = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        int count = 0;
        if (thrd_create(&thread, counts, &count) != 1)
            return 1;
        pthread_join(thread, NULL);
        good += count == 1;
    }
    printf("%d of 200 threads, %d\n", good, *tee(&one, &two));
    MPI_Finalize();
    return good != 200 || two != 2;
}
#endif
