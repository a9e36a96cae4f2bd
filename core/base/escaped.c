/* Compares a text with a value that may be escaped (escaped.h). Hexadecimal digits may be in either case, and plain and
 * escaped characters may be mixed. The cost is one pass over the part of the text that agrees with the value. */

#include "escaped.h"
#include "utf8.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum found { DIFFERS, AGREES, ENDS };

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Does the text begin with this number in so many hexadecimal digits? */
static enum found is_number(const char *text, size_t len, unsigned digits, uint32_t number)
{
    for (unsigned i = 0; i < digits; i++) {
        if (i >= len)
            return ENDS;
        if (hex_value(text[i]) != (int)(number >> 4 * (digits - 1 - i) & 15))
            return DIFFERS;
    }
    return AGREES;
}

char escaped_letter(char byte)
{
    static const char bytes[] = "\b\f\n\r\t\"'/", letters[] = "bfnrt\"'/";
    const char *at = byte ? strchr(bytes, byte) : NULL;
    return at ? letters[at - bytes] : '\0';
}

static size_t count_slashes(const char *text, size_t len)
{
    size_t count = 0;
    while (count < len && count <= ESCAPED_SLASHES_MAX && text[count] == '\\')
        count++;
    return count;
}

/* \u0073, or the pair of them that spells a character above U+FFFF. */
static size_t unicode_length(uint32_t cp, const char *text, size_t len, size_t slashes)
{
    uint32_t units[2] = {cp, 0};
    size_t count = 1, at = 0;
    if (cp > 0xFFFF) {
        units[0] = 0xD800 + ((cp - 0x10000) >> 10);
        units[1] = 0xDC00 + ((cp - 0x10000) & 0x3FF);
        count = 2;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k <= slashes; k++, at++) {
            if (at >= len)
                return len + 1;
            if (text[at] != (k < slashes ? '\\' : 'u'))
                return 0;
        }
        enum found found = is_number(text + at, len - at, 4, units[i]);
        if (found != AGREES)
            return found == ENDS ? len + 1 : 0;
        at += 4;
    }
    return at;
}

/* How many bytes of the text spell the next `used` bytes of the value; 0: none. More than `len`: the text ends within.
 */
static size_t char_length(const char *value, size_t value_len, const char *text, size_t len, size_t *used)
{
    size_t slashes = count_slashes(text, len), char_len;
    *used = 1;
    if (!len)
        return 1;
    if (!slashes)
        return *text == *value;
    if (slashes == len)
        return slashes > ESCAPED_SLASHES_MAX ? 0 : len + 1;
    uint32_t cp = utf8_decode(value, value_len, &char_len);
    if (slashes <= ESCAPED_SLASHES_MAX && text[slashes] == 'u') {
        size_t length = unicode_length(cp, text, len, slashes);
        if (length) {
            *used = char_len;
            return length;
        }
    }
    if (*value == '\\')
        return slashes > 1 ? 2 : 1;
    const char *at = text + slashes + 1;
    size_t left = len - slashes - 1;
    if (text[slashes] == 'x' && slashes <= ESCAPED_SLASHES_MAX) {
        /* Python has the character in texts and the byte in bytes. */
        enum found as_char = cp <= 0xFF ? is_number(at, left, 2, cp) : DIFFERS;
        enum found as_byte = is_number(at, left, 2, (unsigned char)*value);
        *used = as_char == AGREES ? char_len : 1;
        return as_char == AGREES || as_byte == AGREES ? slashes + 3 : as_char == ENDS || as_byte == ENDS ? len + 1 : 0;
    }
    return slashes <= ESCAPED_SLASHES_MAX && escaped_letter(*value) == text[slashes] ? slashes + 1 : 0;
}

size_t escaped_length(const char *value, size_t value_len, const char *text, size_t len, size_t *known)
{
    size_t at = 0, used;
    for (*known = 0; *known < value_len; *known += used) {
        size_t took = char_length(value + *known, value_len - *known, text + at, len - at, &used);
        if (!took)
            return 0;
        at += took;
        if (at > len)
            return at;
    }
    return at;
}
