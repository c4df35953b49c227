#include "symbols/functionstart.h"

#include "base/array.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

/* The encoding that linkers use for the table, and compilers for the entries. No other encoding is read. */
enum {
    TABLE_ENCODING = DW_EH_PE_datarel | DW_EH_PE_sdata4,
    ENTRY_ENCODING = DW_EH_PE_pcrel | DW_EH_PE_sdata4,
    HEAD_BYTES = 12, /* version, three encodings, where .eh_frame is, how many entries */
    ROW_BYTES = 8,
    AUGMENTATION_MOST = 8,
};

/* A part of the file, as it is in memory. */
struct stretch {
    const unsigned char *bytes;
    uint64_t address, size;
};

static bool stretch_find(Elf *elf, uint32_t type, uint64_t address, struct stretch *found)
{
    size_t count = 0;
    GElf_Phdr head;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        if (!gelf_getphdr(elf, (int)i, &head) || head.p_type != type ||
            (type == PT_LOAD && address - head.p_vaddr >= head.p_filesz))
            continue;
        Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)head.p_offset, head.p_filesz, ELF_T_BYTE);
        if (!data || !data->d_buf)
            return false;
        *found = (struct stretch){.bytes = data->d_buf, .address = head.p_vaddr, .size = data->d_size};
        return true;
    }
    return false;
}

/* Returns `bytes` at this address, or NULL. */
static const unsigned char *stretch_bytes(const struct stretch *stretch, uint64_t address, uint64_t bytes)
{
    uint64_t offset = address - stretch->address;
    return offset <= stretch->size && bytes <= stretch->size - offset ? stretch->bytes + offset : NULL;
}

static uint32_t number_at(const unsigned char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static int64_t signed_number(const unsigned char *bytes)
{
    return (int32_t)number_at(bytes);
}

static const unsigned char *leb_skip(const unsigned char *at, const unsigned char *end)
{
    while (at < end && *at & 0x80)
        at++;
    return at < end ? at + 1 : end;
}

/* Returns whether the addresses in the entries of this CIE have the usual encoding. */
static bool cie_is_usual(const struct stretch *frames, uint64_t address)
{
    const unsigned char *head = stretch_bytes(frames, address, 9 + AUGMENTATION_MOST + 16);
    if (!head || number_at(head + 4) != 0 || (head[8] != 1 && head[8] != 3) || head[9] != 'z')
        return false;
    const unsigned char *end = head + 9 + AUGMENTATION_MOST + 16, *letter = head + 10, *at = head + 10;
    while (at < head + 9 + AUGMENTATION_MOST && *at)
        at++;
    if (*at)
        return false;
    at = leb_skip(leb_skip(at + 1, end), end);      /* code and data alignment */
    at = head[8] == 1 ? at + 1 : leb_skip(at, end); /* the return address's register */
    at = leb_skip(at, end);                         /* length of the rest */
    for (; *letter && at < end; letter++) {
        if (*letter == 'R')
            return *at == ENTRY_ENCODING;
        if (*letter == 'P') { /* an encoding, and an address of that */
            unsigned size = *at & 0x07;
            at += 1 + (size == DW_EH_PE_udata2 ? 2 : size == DW_EH_PE_udata4 ? 4 : 8);
        } else if (*letter == 'L') {
            at++;
        } else if (*letter != 'S' && *letter != 'B') {
            return false;
        }
    }
    return false;
}

/* Returns whether the entry at `entry` begins at `start`, and covers the address. */
static bool entry_covers(const struct stretch *frames, uint64_t entry, uint64_t start, uint64_t address)
{
    const unsigned char *head = stretch_bytes(frames, entry, 16); /* length, way back to its CIE, begin, bytes */
    if (!head || number_at(head) < 12 || number_at(head) >= 0xfffffff0 || number_at(head + 4) == 0)
        return false;
    return cie_is_usual(frames, entry + 4 - number_at(head + 4)) &&
           entry + 8 + (uint64_t)signed_number(head + 8) == start && address - start < number_at(head + 12);
}

bool function_start(Elf *elf, uint64_t address, uint64_t *start)
{
    struct stretch table, frames;
    GElf_Ehdr head;
    if (!gelf_getehdr(elf, &head) || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        !stretch_find(elf, PT_GNU_EH_FRAME, 0, &table) || table.size < HEAD_BYTES)
        return false;
    if (table.bytes[0] != 1 || (table.bytes[1] & 0x0f) != DW_EH_PE_sdata4 || table.bytes[2] != DW_EH_PE_udata4 ||
        table.bytes[3] != TABLE_ENCODING)
        return false;
    const unsigned char *rows = table.bytes + HEAD_BYTES;
    uint64_t count = number_at(table.bytes + 8);
    if (count > (table.size - HEAD_BYTES) / ROW_BYTES)
        return false;
    size_t later = ARRAY_FIRST(i, 0, count, table.address + (uint64_t)signed_number(rows + i * ROW_BYTES) > address);
    if (!later)
        return false;
    const unsigned char *row = rows + (later - 1) * ROW_BYTES;
    uint64_t entry = table.address + (uint64_t)signed_number(row + 4);
    *start = table.address + (uint64_t)signed_number(row);
    return stretch_find(elf, PT_LOAD, entry, &frames) && entry_covers(&frames, entry, *start, address);
}
