/* Lists the forms in which a secret may appear in texts.
 *
 * A key may go into a request unchanged, into a URL, into "user:key" as base64, into a dump as hex digits, or into
 * the JSON of an answer that is a text in the JSON of another. redact.c searches for each form as for the value
 * itself. URLs and backslash escapes have too many forms to list, because every program escapes other characters. */

#include "redact_encodings.h"
#include "json.h"
#include "mem.h"
#include "redact.h"
#include "strbuf.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct to {
    redact_encoding_fn *each;
    void *data;
};

static void give(const struct to *to, const char *text, size_t len)
{
    if (len >= REDACT_LEAST)
        to->each(to->data, text, len, REDACT_PLAIN);
}

/* As JSON writes it, and as JSON writes that: a tool's answer is often JSON within a text. */
static void give_json(const struct to *to, const char *text, size_t len)
{
    for (int style = 0; style < 2; style++) {
        CLEANUP(strbuf) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
        json_write_str(&once, text, len, style ? JSON_ASCII : JSON_COMPACT);
        give(to, once.buf + 1, once.len - 2);
        json_write_str(&twice, once.buf + 1, once.len - 2, JSON_COMPACT);
        give(to, twice.buf + 1, twice.len - 2);
    }
}

/* As Python prints it between single quotes. */
static void give_repr(const struct to *to, const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\\' || c == '\'')
            strbuf_addf(&out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            strbuf_addf(&out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 0x20 || c == 0x7f)
            strbuf_addf(&out, "\\x%02x", c);
        else
            strbuf_addch(&out, (char)c);
    }
    give(to, out.buf, out.len);
}

/* Digits in a row, and with something between the bytes, as dumps have them. */
static void give_hex(const struct to *to, const char *text, size_t len)
{
    static const char *const between[] = {"", ":", " ", "-"};
    for (size_t which = 0; which < 2 * COUNT_OF(between); which++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        for (size_t i = 0; i < len; i++)
            strbuf_addf(&out, which % 2 ? "%s%02X" : "%s%02x", i ? between[which / 2] : "", (unsigned char)text[i]);
        give(to, out.buf, out.len);
    }
}

/* Inside base64 a value appears in one of three ways, which depends on the number of bytes before it. The digits at
 * its ends also depend on its neighbors and are left out, so that the rest depends on the value alone. */
static void give_base64(const struct to *to, const char *text, size_t len)
{
    static const char digits[2][65] = {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
    for (size_t which = 0; which < 6; which++) {
        CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
        size_t shift = 8 * (which % 3), bits = 8 * len;
        for (size_t bit = (6 - shift % 6) % 6; bit + 6 <= bits; bit += 6) {
            unsigned two = (unsigned)(unsigned char)text[bit / 8] << 8;
            if (bit / 8 + 1 < len)
                two |= (unsigned char)text[bit / 8 + 1];
            strbuf_addch(&out, digits[which / 3][two >> (10 - bit % 8) & 63]);
        }
        give(to, out.buf, out.len);
    }
}

static void give_all(const struct to *to, const char *text, size_t len)
{
    give(to, text, len);
    give_json(to, text, len);
    give_repr(to, text, len);
    if (len >= REDACT_LEAST) {
        to->each(to->data, text, len, REDACT_IN_URL);
        to->each(to->data, text, len, REDACT_ESCAPED);
    }
    give_hex(to, text, len);
    give_base64(to, text, len);
}

void redact_encodings(const char *value, redact_encoding_fn *each, void *data)
{
    const struct to to = {each, data};
    size_t len = strlen(value);
    give_all(&to, value, len);
    for (const char *line = value; *line;) {
        size_t whole = strcspn(line, "\r\n");
        if (whole >= REDACT_LEAST && whole < len)
            give_all(&to, line, whole);
        line += whole + strspn(line + whole, "\r\n");
    }
}
