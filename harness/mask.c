/* Replaces secret values in the output of a script.
 *
 * A value can appear in other forms. Python and JSON escape it in a list, in a traceback or in a JSON text, and a
 * script may print one line of a multi-line value. The mask looks for all these forms as well. */

#include "mask.h"
#include "base/escaped.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include <string.h>

static void add_text(struct mask *mask, const char *name, const char *text, size_t len, bool form)
{
    size_t at = 0;
    while (at < mask->count && mask->values[at].len >= len) { /* the longest first: it wins over its own prefix */
        if (mask->values[at].len == len && memcmp(mask->values[at].value, text, len) == 0)
            return;
        at++;
    }
    GROW(mask->values, mask->count, mask->room);
    memmove(mask->values + at + 1, mask->values + at, (mask->count - at) * sizeof(*mask->values));
    mask->values[at] = (struct masked){xmemdup0(text, len), len, name, form};
    mask->count++;
    mask->first[(unsigned char)text[0]] = mask->first['\\'] = true;
}

/* ---- forms ---- */

/* How a form writes characters above 0x7f: unchanged, as in repr(); escaped, as in ascii(); or escaped byte by byte, as
 * in the repr() of bytes. */
enum beyond { STAYS, CHARACTERS, BYTES };

static void spell(struct strbuf *out, uint32_t cp)
{
    if (cp <= 0xff)
        strbuf_addf(out, "\\x%02x", cp);
    else if (cp <= 0xffff)
        strbuf_addf(out, "\\u%04x", cp);
    else
        strbuf_addf(out, "\\U%08x", cp);
}

/* Writes what Python's repr() puts between the quotes. It escapes the single quote only if the text holds both
 * kinds. */
static void write_repr(struct strbuf *out, const char *text, size_t len, bool quotes, enum beyond beyond)
{
    for (size_t at = 0, used = 1; at < len; at += used) {
        const unsigned char c = (unsigned char)text[at];
        const uint32_t cp = c < 0x80 || beyond == BYTES ? c : utf8_decode(text + at, len - at, &used);
        if (c < 0x80 || beyond == BYTES)
            used = 1;
        if (c == '\\' || (quotes && c == '\''))
            strbuf_addf(out, "\\%c", c);
        else if (c == '\n' || c == '\r' || c == '\t')
            strbuf_addf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (c < 0x20 || c == 0x7f || (c >= 0x80 && beyond != STAYS))
            spell(out, cp);
        else
            strbuf_add(out, text + at, used);
    }
}

static bool has_no_other_form(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] > 0x7e || text[i] == '"' || text[i] == '\'' || text[i] == '\\')
            return false;
    return true;
}

/* Adds the text and all its forms. */
static void add_forms(struct mask *mask, const char *name, const char *text, size_t len)
{
    CLEANUP(strbuf) struct strbuf form = STRBUF_INIT;
    add_text(mask, name, text, len, false);
    if (has_no_other_form(text, len))
        return;
    strbuf_grow(&form, 6 * len + 2); /* the longest form: growing once leaves no copy */
    for (int which = 0; which < 2 * (BYTES + 1); which++) {
        strbuf_reset(&form);
        write_repr(&form, text, len, which % 2, (enum beyond)(which / 2));
        add_text(mask, name, form.buf, form.len, true);
    }
    for (int which = 0; which < 2; which++) {
        strbuf_reset(&form);
        json_write_str(&form, text, len, which ? JSON_ASCII : JSON_COMPACT);
        add_text(mask, name, form.buf + 1, form.len - 2, true);
    }
    explicit_bzero(form.buf, 6 * len + 2);
}

void mask_add(struct mask *mask, const char *name, const char *value)
{
    const size_t len = strlen(value);
    if (len < MASK_LEAST)
        return;
    add_forms(mask, name, value, len);
    for (const char *line = value; *line;) {
        const size_t whole = strcspn(line, "\r\n");
        if (whole >= MASK_LEAST_LINE && whole < len)
            add_forms(mask, name, line, whole);
        line += whole + strspn(line + whole, "\r\n");
    }
}

void mask_clear(struct mask *mask)
{
    for (size_t i = 0; i < mask->count; i++) {
        explicit_bzero(mask->values[i].value, mask->values[i].len);
        free(mask->values[i].value);
    }
    free(mask->values);
    *mask = (struct mask)MASK_INIT;
}

/* Returns the value at the beginning of the text and the bytes that it takes there; NULL if none. Sets `cut` if a value
 * may begin there but the text ends too early. */
static const struct masked *value_at(const struct mask *mask, const char *text, size_t len, size_t *length, bool *cut)
{
    const struct masked *found = NULL;
    *cut = false;
    *length = 0;
    if (!mask->first[(unsigned char)*text])
        return NULL;
    for (size_t i = 0; i < mask->count; i++) {
        const struct masked *value = &mask->values[i];
        size_t known, here = 0;
        if (memcmp(value->value, text, value->len < len ? value->len : len) == 0)
            here = value->len;
        else if (!value->form)
            here = escaped_length(value->value, value->len, text, len, &known);
        *cut |= here > len;
        if (here <= len && here > *length) {
            found = value;
            *length = here;
        }
    }
    return found;
}

static size_t mask_until(struct strbuf *out, const struct mask *mask, const char *text, size_t len, bool whole)
{
    size_t plain = 0, at = 0;
    while (at < len && mask->count) {
        bool cut;
        size_t length;
        const struct masked *found = value_at(mask, text + at, len - at, &length, &cut);
        if (cut && !whole)
            break;
        if (!found) {
            at++;
            continue;
        }
        strbuf_add(out, text + plain, at - plain);
        strbuf_addf(out, "[secret %s]", found->name);
        plain = at += length;
    }
    if (!mask->count)
        at = len;
    strbuf_add(out, text + plain, at - plain);
    return at;
}

bool mask_finds(const struct mask *mask, const char *text, size_t len)
{
    bool cut;
    size_t length;
    for (size_t at = 0; mask->count && at < len; at++)
        if (value_at(mask, text + at, len - at, &length, &cut))
            return true;
    return false;
}

void mask_text(struct strbuf *out, const struct mask *mask, const char *text, size_t len)
{
    mask_until(out, mask, text, len, true);
}

size_t mask_part(struct strbuf *out, const struct mask *mask, const char *text, size_t len)
{
    return mask_until(out, mask, text, len, false);
}
