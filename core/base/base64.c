/* Encodes bytes as base64 and decodes them, with padding. */

#include "base64.h"
#include "strbuf.h"
#include <stdint.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct strbuf *out, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    strbuf_grow(out, (len + 2) / 3 * 4);
    for (size_t i = 0; i < len; i += 3) {
        size_t have = len - i < 3 ? len - i : 3;
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < have ? at[i + k] : 0u);
        char text[4];
        for (size_t k = 0; k < 4; k++)
            text[k] = k <= have ? alphabet[group >> (18 - 6 * k) & 63] : '=';
        strbuf_add(out, text, sizeof(text));
    }
}

/* The six bits of a character, or -1. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_read(void *bytes, size_t *count, const char *text, size_t len)
{
    unsigned char *to = bytes;
    size_t padding = 0;
    if (len % 4)
        return false;
    while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
        padding++;
    *count = len / 4 * 3 - padding;
    for (size_t i = 0; i < len; i += 4) {
        size_t have = i + 4 == len ? 4 - padding : 4;
        uint32_t group = 0;
        for (size_t k = 0; k < 4; k++) {
            int value = k < have ? value_of(text[i + k]) : 0;
            if (value < 0)
                return false;
            group = group << 6 | (uint32_t)value;
        }
        if (have < 4 && group & (have == 3 ? 0xffu : 0xffffu))
            return false; /* two texts for the same bytes */
        for (size_t k = 0; k + 1 < have; k++)
            *to++ = (unsigned char)(group >> (16 - 8 * k));
    }
    return true;
}
