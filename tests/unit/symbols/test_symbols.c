/* Names and lines of addresses in this very program, and of files that are something else than what ran. */
#define _GNU_SOURCE
#include "unittest.h"

#include "symbols/functionstart.h"
#include "symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct symbols *symbols;
static struct module self;
static uint8_t build_id[SAMPLE_BUILD_ID_MOST];
static char program[4096], scratch[64];

/* What is mapped of this program, as the sampler says it. */
static int object_take(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size, (void)data;
    self.bias = info->dlpi_addr;
    self.begin = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + head->p_vaddr;
        if (head->p_type == PT_LOAD) {
            self.begin = begin < self.begin ? begin : self.begin;
            self.end = begin + head->p_memsz;
        }
        for (uint64_t at = begin; head->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < begin + head->p_memsz;) {
            const ElfW(Nhdr) *note = (const void *)(uintptr_t)at;
            uint64_t name = (note->n_namesz + 3u) & ~3u, bytes = (note->n_descsz + 3u) & ~3u;
            if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof build_id) {
                memcpy(build_id, (const char *)(note + 1) + name, note->n_descsz);
                self.build_id_bytes = note->n_descsz;
            }
            at += sizeof *note + name + bytes;
        }
    }
    return 1; /* the first one is the program */
}

static int setup(void **state)
{
    (void)state;
    const char *where = getenv("TMPDIR");
    symbols = symbols_open(NULL);
    dl_iterate_phdr(object_take, NULL);
    self.build_id = build_id;
    self.path = "";
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    int n = snprintf(scratch, sizeof scratch, "%s/mpit-unit.XXXXXX", where && strlen(where) < 40 ? where : "/tmp");
    return !symbols || length < 0 || n < 0 || !mkdtemp(scratch) || !self.build_id_bytes;
}

static int teardown(void **state)
{
    (void)state;
    symbols_close(symbols);
    return rmdir(scratch);
}

static const struct symbol_place *find(const struct module *module, uint64_t pc)
{
    const struct symbol_place *place = symbols_look_up(symbols, module, program, pc);
    assert_non_null(place);
    assert_true(place->count >= 1);
    return place;
}

int main(void);
static volatile uint64_t here[3];
static unsigned outer_line, inner_line;

/* Where it is right behind this, which is what a stack has. */
__attribute__((noinline)) static uint64_t return_address(void)
{
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

__attribute__((always_inline)) static inline void inner(void)
{
    inner_line = __LINE__ + 1;
    here[0] = return_address() - 1;
    here[1]++;
}

__attribute__((noinline)) static void outer(void)
{
    here[2]++;
    outer_line = __LINE__ + 1;
    inner();
    here[2]++;
}

TESTS_EACH(setup, teardown)

TEST(a_function_and_its_line_are_found)
{
    const struct symbol_place *place = find(&self, (uint64_t)(uintptr_t)&return_address);
    assert_string_equal(place->lines[place->count - 1].function, "return_address");
    assert_non_null(strstr(place->lines[0].file, "test_symbols.c"));
    assert_in_range(place->lines[0].line, 60, 90);
    assert_string_equal(place->module, strrchr(program, '/') + 1);
    char note[SYMBOLS_NOTE_BYTES];
    assert_false(symbols_note(symbols, 0, note));
}

TEST(an_inlined_function_stands_inside_of_its_caller)
{
    outer();
    const struct symbol_place *place = find(&self, here[0]);
    assert_int_equal(place->count, 2);
    assert_string_equal(place->lines[0].function, "inner");
    assert_int_equal(place->lines[0].line, inner_line);
    assert_string_equal(place->lines[1].function, "outer");
    assert_int_equal(place->lines[1].line, outer_line);
    assert_non_null(strstr(place->lines[1].file, "test_symbols.c"));
}

TEST(an_address_is_asked_for_once)
{
    const struct symbol_place *first = find(&self, here[0]);
    assert_ptr_equal(first, find(&self, here[0]));
}

TEST(names_of_cpp_are_written_out)
{
    Dl_info info;
    struct link_map *map;
    extern char *__cxa_demangle(const char *, char *, size_t *, int *);
    assert_int_not_equal(dladdr1((void *)(uintptr_t)&__cxa_demangle, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
    void *library = dlopen(info.dli_fname, RTLD_NOW);
    assert_non_null(library);
    void *terminate = dlsym(library, "_ZSt9terminatev");
    assert_non_null(terminate);
    char *real = realpath(info.dli_fname, NULL);
    /* without a build id, as a file that has one is another one */
    struct module module = {.begin = 0, .end = UINT64_MAX, .bias = map->l_addr, .path = real};
    const struct symbol_place *place = find(&module, (uint64_t)(uintptr_t)terminate);
    assert_null(place->lines[0].function);
    char note[SYMBOLS_NOTE_BYTES];
    assert_true(symbols_note(symbols, 0, note));
    assert_non_null(strstr(note, "is not the file that ran"));
    assert_false(symbols_note(symbols, 1, note));
    uint8_t other[SAMPLE_BUILD_ID_MOST];
    struct dl_find_object found;
    assert_int_equal(_dl_find_object(terminate, &found), 0);
    /* the note of the build id is among the library's first bytes */
    const char *at = memmem(found.dlfo_map_start, 4096, "GNU\0", 4);
    while (at && ((const ElfW(Nhdr) *)(const void *)(at - sizeof(ElfW(Nhdr))))->n_type != NT_GNU_BUILD_ID)
        at = memmem(at + 4, 4096, "GNU\0", 4);
    assert_non_null(at);
    module.build_id_bytes = ((const ElfW(Nhdr) *)(const void *)(at - sizeof(ElfW(Nhdr))))->n_descsz;
    memcpy(other, at + 4, module.build_id_bytes);
    module.build_id = other;
    place = find(&module, (uint64_t)(uintptr_t)terminate);
    assert_string_equal(place->lines[place->count - 1].function, "std::terminate()");
    free(real);
}

TEST(a_changed_file_gives_no_names)
{
    struct module changed = self;
    uint8_t other[SAMPLE_BUILD_ID_MOST];
    char note[SYMBOLS_NOTE_BYTES];
    memcpy(other, build_id, sizeof other);
    other[3] ^= 1;
    changed.build_id = other;
    for (int i = 0; i < 2; i++) {
        const struct symbol_place *place = find(&changed, here[0] - (uint64_t)i);
        assert_int_equal(place->count, 1);
        assert_null(place->lines[0].function);
        assert_null(place->lines[0].file);
        assert_int_equal(place->address, here[0] - (uint64_t)i - self.bias);
    }
    assert_true(symbols_note(symbols, 0, note));
    assert_non_null(strstr(note, program));
    assert_false(symbols_note(symbols, 1, note));
}

static void note_check(const char *path, const char *text)
{
    char note[SYMBOLS_NOTE_BYTES];
    struct module module = self;
    module.path = path;
    assert_null(find(&module, here[0])->lines[0].function);
    assert_true(symbols_note(symbols, 0, note)); /* the latest first */
    if (!strstr(note, text))
        fail_msg("\"%s\" does not say \"%s\"", note, text);
}

TEST(what_is_no_regular_file_is_not_opened)
{
    char path[128];
    snprintf(path, sizeof path, "%s/pipe", scratch);
    assert_int_equal(mkfifo(path, 0600), 0);
    note_check(path, "is not a regular file"); /* and this did not wait for a writer */
    unlink(path);
    note_check(scratch, "is not a regular file");
    note_check("/dev/zero", "is not a regular file");
    snprintf(path, sizeof path, "%s/nothing", scratch);
    note_check(path, "No such file or directory");
    struct module module = self;
    module.path = "[vdso]";
    assert_null(find(&module, here[0])->lines[0].function);
    assert_string_equal(find(&module, here[0])->module, "[vdso]");
    assert_string_equal(find(NULL, 77)->module, "[unknown]");
    assert_int_equal(find(NULL, 77)->address, 77);
}

/* The program's file, cut off or with other bytes in it: some answer, and no crash. */
TEST(damaged_files_are_survived)
{
    char path[128];
    struct stat st;
    int fd = open(program, O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    size_t size = (size_t)st.st_size;
    unsigned char *good = malloc(size), *bad = malloc(size);
    assert_true(good && bad && read(fd, good, size) == (ssize_t)size);
    close(fd);
    srand(1);
    for (int i = 0; i < 120; i++) {
        size_t length = i % 3 ? size : (size_t)rand() % size;
        memcpy(bad, good, size);
        /* the head, and anywhere: debug information is most of the file */
        for (int k = 0; i % 3 && k < (i % 3 == 1 ? 8 : 2000); k++)
            bad[i % 3 == 1 ? 4 + rand() % 1000 : (int)((size_t)rand() % size)] = (unsigned char)rand();
        snprintf(path, sizeof path, "%s/damaged", scratch);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, bad, length), length);
        close(fd);
        struct symbols *own = symbols_open(NULL);
        struct module module = self;
        module.path = path;
        module.build_id_bytes = i % 2 ? self.build_id_bytes : 0;
        for (uint64_t pc = here[0]; pc < here[0] + 4000; pc += 100)
            assert_non_null(symbols_look_up(own, &module, program, pc));
        symbols_close(own);
        unlink(path);
    }
    free(good);
    free(bad);
}

/* Entries of debug information that were stepped over, and symbols that were read. */
static unsigned steps, read_symbols;
int __real_dwarf_siblingof(Dwarf_Die *die, Dwarf_Die *result);
int __wrap_dwarf_siblingof(Dwarf_Die *die, Dwarf_Die *result)
{
    steps++;
    return __real_dwarf_siblingof(die, result);
}
const char *__real_dwfl_module_getsym_info(Dwfl_Module *module, int number, GElf_Sym *symbol, GElf_Addr *address,
                                           GElf_Word *section, Elf **elf, Dwarf_Addr *bias);
const char *__wrap_dwfl_module_getsym_info(Dwfl_Module *module, int number, GElf_Sym *symbol, GElf_Addr *address,
                                           GElf_Word *section, Elf **elf, Dwarf_Addr *bias)
{
    read_symbols++;
    return __real_dwfl_module_getsym_info(module, number, symbol, address, section, elf, bias);
}

/* As of a stripped file: without its symbols. Where each of these functions begins, the compiler knows. */
TEST(functions_without_names_begin_somewhere)
{
    elf_version(EV_CURRENT);
    int fd = open(program, O_RDONLY);
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    assert_non_null(elf);
    void (*const functions[])(void) = {outer, (void (*)(void))return_address, (void (*)(void))object_take,
                                       (void (*)(void))main};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)functions[i] - self.bias, start = 0;
        for (uint64_t at = begin; at < begin + 4; at++) {
            assert_true(function_start(elf, at, &start));
            assert_int_equal(start, begin);
        }
    }
    uint64_t start;
    assert_false(function_start(elf, 0, &start));
    assert_false(function_start(elf, self.end - self.bias, &start));
    assert_false(function_start(elf, (uint64_t)(uintptr_t)&here - self.bias, &start)); /* data behind all code */
    assert_false(function_start(elf, UINT64_MAX, &start));
    elf_end(elf);
    close(fd);
}

/* Whatever the tables say: an answer that covers the address, or none, and no crash. */
TEST(damaged_tables_are_survived)
{
    struct stat st;
    elf_version(EV_CURRENT);
    int fd = open(program, O_RDONLY);
    assert_int_equal(fstat(fd, &st), 0);
    size_t size = (size_t)st.st_size, head = 0, bytes = 0;
    char *good = malloc(size), *bad = malloc(size);
    assert_true(good && bad && read(fd, good, size) == (ssize_t)size);
    const ElfW(Phdr) *heads = (const void *)(good + ((const ElfW(Ehdr) *)(const void *)good)->e_phoff);
    for (unsigned i = 0; i < ((const ElfW(Ehdr) *)(const void *)good)->e_phnum; i++)
        if (heads[i].p_type == PT_GNU_EH_FRAME) {
            head = heads[i].p_offset;
            bytes = heads[i].p_filesz;
        }
    assert_int_not_equal(head, 0);
    srand(2);
    for (int i = 0; i < 3000; i++) {
        memcpy(bad, good, size);
        size_t at = i % 3 ? head : 0, most = i % 3 == 0 ? 1000 : i % 3 == 1 ? 16 : 8 * bytes; /* .eh_frame is behind */
        for (int k = 0; k < 1 + i % 200; k++)
            bad[at + (size_t)rand() % (most < size - at ? most : size - at)] = (char)rand();
        Elf *elf = elf_memory(bad, i % 5 ? size : (size_t)rand() % size);
        uint64_t address = here[0] - self.bias, start;
        if (elf && function_start(elf, address, &start))
            assert_true(start <= address);
        elf_end(elf);
    }
    free(good);
    free(bad);
    close(fd);
}

/* Each further address costs the entries of its function, and not those of its unit. */
TEST(a_unit_is_walked_once)
{
    steps = 0;
    find(&self, (uint64_t)(uintptr_t)&a_unit_is_walked_once);
    unsigned first = steps;
    assert_in_range(first, 200, 100000);
    for (uint64_t at = 0; at < 20; at++)
        find(&self, (uint64_t)(uintptr_t)&note_check + at);
    assert_in_range(steps - first, 20, 20 * 20);
}

/* Where no function is, symbols are asked. */
TEST(symbols_are_read_once)
{
    read_symbols = 0;
    assert_string_equal(find(&self, (uint64_t)(uintptr_t)&here)->lines[0].function, "here");
    unsigned first = read_symbols;
    assert_in_range(first, 50, 100000);
    for (uint64_t at = 1; at < sizeof here; at++)
        assert_string_equal(find(&self, (uint64_t)(uintptr_t)&here + at)->lines[0].function, "here");
    assert_int_equal(read_symbols - first, sizeof here - 1);
}
