#pragma once
/* What the files of json.h share; nobody else includes it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Strings are looked at in blocks. plain_prefix tells how many bytes at the start of a block stand for themselves
 * inside quotes: no quote, no backslash, nothing below 0x20 or above 0x7f, and no DEL if that matters to the caller. */
#if defined(__SSE2__)
#define SCAN_BLOCK ((ptrdiff_t)16)

static inline size_t plain_prefix(const char *at, bool not_del)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* Compared as signed numbers, bytes above 0x7f are below 0x20 as well. */
    __m128i stop = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));
    stop = _mm_or_si128(stop, _mm_cmpeq_epi8(block, _mm_set1_epi8('"')));
    stop = _mm_or_si128(stop, _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    if (not_del)
        stop = _mm_or_si128(stop, _mm_cmpeq_epi8(block, _mm_set1_epi8(0x7F)));
    return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8(stop) | 0x10000);
}
#else
#define SCAN_BLOCK   ((ptrdiff_t)8)
#define EACH_BYTE(b) (0x0101010101010101u * (uint64_t)(b))

/* Flags bytes below `limit`, which are below 0x80 themselves. A borrow may flag the byte after a true one, so only the
 * first flag counts. */
static inline uint64_t flag_below(uint64_t word, unsigned char limit)
{
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static inline size_t plain_prefix(const char *at, bool not_del)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    uint64_t stop = flag_below(word, 0x20) | (word & EACH_BYTE(0x80));
    stop |= flag_below(word ^ EACH_BYTE('"'), 1) | flag_below(word ^ EACH_BYTE('\\'), 1);
    if (not_del)
        stop |= flag_below(word ^ EACH_BYTE(0x7F), 1);
    return stop ? (size_t)__builtin_ctzll(stop) / 8 : 8;
}
#endif

/* The same for one byte, where no whole block is left. */
static inline bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x80 && c != '"' && c != '\\';
}

static inline bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool json_starts_with(const char *at, const char *end, const char *word, size_t len)
{
    return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

/* Four hexadecimal digits, or -1. */
static inline int json_hex4(const char *at, const char *end)
{
    if (end - at < 4)
        return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The end of the number at `at`, or NULL and the place where the grammar broke. */
static inline const char *json_scan_number(const char *at, const char *end, const char **broken)
{
    if (at < end && *at == '-')
        at++;
    *broken = at;
    if (at == end || !json_is_digit(*at))
        return NULL;
    if (*at == '0')
        at++;
    else
        while (at < end && json_is_digit(*at))
            at++;
    if (at < end && *at == '.') {
        *broken = ++at;
        if (at == end || !json_is_digit(*at))
            return NULL;
        while (at < end && json_is_digit(*at))
            at++;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        *broken = at;
        if (at == end || !json_is_digit(*at))
            return NULL;
        while (at < end && json_is_digit(*at))
            at++;
    }
    return at;
}

/* The double of a JSON number's text, whatever the locale; infinite when it is out of range. */
double json_text_to_double(const char *text);
