#include "site/hide.h"

#include "base/hash.h"
#include "base/text.h"
#include "site/setting.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
#define HIDE_TEXT(id, word) #word,
    HIDE_WORDS(HIDE_TEXT)
#undef HIDE_TEXT
};
enum { WORD_COUNT = sizeof words / sizeof words[0] };

static struct {
    unsigned hidden; /* enum hide */
    uint64_t key[2];
} wish;

/* Returns the place of the word, or WORD_COUNT. */
static size_t word_find(const char *word, size_t length)
{
    size_t i = 0;
    while (i < WORD_COUNT && (strlen(words[i]) != length || strncmp(words[i], word, length) != 0))
        i++;
    return i;
}

/* Returns the bits of a list. *unknown gets its first unknown word, of *length characters. */
static unsigned list_read(const char *list, const char **unknown, size_t *length)
{
    unsigned hidden = 0;
    *unknown = NULL;
    for (size_t bytes; list && *list; list += bytes) {
        list += strspn(list, ", \t");
        bytes = strcspn(list, ", \t");
        size_t place = word_find(list, bytes);
        hidden |= place < WORD_COUNT ? 1U << place : 0;
        if (bytes && place == WORD_COUNT && !*unknown) {
            *unknown = list;
            *length = bytes;
        }
    }
    return hidden;
}

void hide_read(void)
{
    const char *unknown, *key = setting("MPIT_HIDE_KEY");
    size_t length;
    unsigned hidden = list_read(setting("MPIT_HIDE"), &unknown, &length);
    wish.hidden = unknown ? ~0U : hidden;
    wish.key[0] = hash_text(HASH_BEGIN, key);
    wish.key[1] = hash_text(~HASH_BEGIN, key);
}

bool hide_is_known(char problem[HIDE_PROBLEM_BYTES])
{
    const char *unknown;
    size_t length, used;
    list_read(setting("MPIT_HIDE"), &unknown, &length);
    if (!unknown)
        return true;
    used = (size_t)snprintf(problem, HIDE_PROBLEM_BYTES, "'%.*s' is not known; allowed are",
                            (int)(length < 40 ? length : 40), unknown);
    for (size_t i = 0; i < WORD_COUNT; i++)
        used += (size_t)snprintf(problem + used, HIDE_PROBLEM_BYTES - used, "%s %s", i ? "," : "", words[i]);
    return false;
}

bool hides(unsigned any)
{
    return wish.hidden & any;
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

static uint64_t rotated(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static void siphash_rounds(uint64_t v[4], int rounds)
{
    while (rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotated(v[1], 13) ^ v[0];
        v[3] = rotated(v[3], 16) ^ v[2];
        v[0] = rotated(v[0], 32) + v[3];
        v[2] += v[1];
        v[1] = rotated(v[1], 17) ^ v[2];
        v[3] = rotated(v[3], 21) ^ v[0];
        v[2] = rotated(v[2], 32);
    }
}

/* SipHash-2-4. Who knows some texts and their hashes cannot find the key, nor test other texts without it. */
static uint64_t keyed_hash(const char *text, size_t bytes)
{
    uint64_t v[4] = {wish.key[0] ^ UINT64_C(0x736f6d6570736575), wish.key[1] ^ UINT64_C(0x646f72616e646f6d),
                     wish.key[0] ^ UINT64_C(0x6c7967656e657261), wish.key[1] ^ UINT64_C(0x7465646279746573)};
    for (size_t at = 0; at <= bytes; at += 8) {
        uint64_t word = 0;
        for (size_t i = at; i < bytes && i < at + 8; i++)
            word |= (uint64_t)(unsigned char)text[i] << 8 * (i - at);
        word |= bytes - at < 8 ? (uint64_t)bytes << 56 : 0;
        v[3] ^= word;
        siphash_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    siphash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void hash_write(char hash[HIDE_HASH_BYTES], const char *text, size_t length)
{
    uint64_t value = keyed_hash(text, length);
    hash[0] = '#';
    for (unsigned i = 0; i < 16; i++)
        hash[i + 1] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
    hash[HIDE_HASH_BYTES - 1] = '\0';
}

/* Nothing of what was there before is left. */
static void text_put(char *to, size_t bytes, const char *text)
{
    size_t length = strlen(text);
    length = length < bytes ? length : bytes - 1;
    memcpy(to, text, length);
    memset(to + length, 0, bytes - length);
}

void hide_text(char *to, size_t bytes, const char *text)
{
    char hash[HIDE_HASH_BYTES] = "";
    if (*text)
        hash_write(hash, text, strlen(text));
    text_put(to, bytes, hash);
}

void hide_path(char *to, size_t bytes, const char *path)
{
    char hashes[2 * HIDE_HASH_BYTES];
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1]) {
        hide_text(to, bytes, path);
        return;
    }
    hash_write(hashes, path, (size_t)(slash - path));
    hashes[HIDE_HASH_BYTES - 1] = '/';
    hash_write(hashes + HIDE_HASH_BYTES, slash + 1, strlen(slash + 1));
    text_put(to, bytes, hashes);
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

static bool begins_with_any(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_begins(text, list[i]))
            return true;
    return false;
}

const char *hide_module(const char *path, const char *program, char room[HIDE_MODULE_BYTES])
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "["};
    static const char *const names[] = {"libmpi", "libc.so", "libc-", "libpthread", "ld-linux", "linux-vdso"};
    const char *whole = path[0] ? path : program, *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;
    if (!hides(HIDE_PROGRAM | HIDE_FUNCTIONS) ||
        (path[0] && (begins_with_any(path, folders, sizeof folders / sizeof folders[0]) ||
                     begins_with_any(name, names, sizeof names / sizeof names[0]))))
        return path;
    text_put(room, HIDE_MODULE_BYTES, name);
    if (path[0] && hides(HIDE_PROGRAM)) /* the program's path is hidden already */
        hide_text(room, HIDE_MODULE_BYTES, room);
    return room;
}
