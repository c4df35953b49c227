/*
 * Functions of the loader, under the version that every glibc has. Since 2.34 they have a new version. With only that,
 * the library would not load on older systems.
 */
#ifndef MPIT_PRELOAD_OLDLIBC_H
#define MPIT_PRELOAD_OLDLIBC_H

#include <dlfcn.h>

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#define OLD(type, name, parameters)                                                                                    \
    extern type old_##name parameters;                                                                                 \
    __asm__(".symver old_" #name ", " #name "@" OLDEST)

OLD(void *, dlsym, (void *handle, const char *name));
OLD(void *, dlopen, (const char *path, int flags));
OLD(int, dladdr, (const void *address, Dl_info *info));
OLD(char *, dlerror, (void));

#endif
