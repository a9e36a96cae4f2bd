#pragma once
/* What json.c and json_write.c share; nobody else includes it. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes at a time. In the result of byte_below and byte_equal the lowest flagged byte is a true match; higher
 * ones may be carries, so only the first counts. Bytes above 0x7f are never flagged first. */
#define EACH_BYTE(b) (0x0101010101010101u * (uint64_t)(b))
#define HIGH_BITS    EACH_BYTE(0x80)

static inline uint64_t load_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t byte_below(uint64_t word, unsigned char limit)
{
    return (word - EACH_BYTE(limit)) & ~word & HIGH_BITS;
}

static inline uint64_t byte_equal(uint64_t word, unsigned char byte)
{
    return byte_below(word ^ EACH_BYTE(byte), 1);
}

/* What ends a run of characters that stand for themselves inside quotes. */
static inline uint64_t byte_special(uint64_t word)
{
    return byte_below(word, 0x20) | byte_equal(word, '"') | byte_equal(word, '\\');
}

static inline size_t first_flag(uint64_t flags)
{
    return (size_t)__builtin_ctzll(flags) / 8;
}

/* The double of a JSON number's text, whatever the locale; infinite when it is out of range. */
double json_text_to_double(const char *text);
