/* JSON writers: values in several styles, strings, numbers, and the little builder.
 *
 * Python's spelling matters because call digests are made over json.dumps(arguments, sort_keys=True): an integer of
 * any size is written digit by digit, a number with a point or an exponent is a float and gets repr(), equal names
 * collapse to the last value, and everything outside ' '…'~' is escaped. */

#include "json.h"

#include "err.h"
#include "json_scan.h"
#include "mem.h"
#include "strbuf.h"
#include "utf8.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers ---- */

struct decimal {
    char digits[24]; /* no leading or trailing zeros, except "0" itself */
    int count;
    int exponent; /* of the first digit: 0 for 1…9.99 */
};

static double decimal_value(const struct decimal *dec)
{
    char text[48];
    /* Without a point, so it reads the same in every locale. */
    snprintf(text, sizeof(text), "%.*se%d", dec->count, dec->digits, dec->exponent - dec->count + 1);
    return strtod(text, NULL);
}

static void round_to(struct decimal *dec, double number, int precision)
{
    char text[64];
    snprintf(text, sizeof(text), "%.*e", precision - 1, number);
    dec->count = 0;
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            dec->digits[dec->count++] = *at;
    dec->exponent = (int)strtol(at + 1, NULL, 10);
}

/* Adds one to the last digit. */
static void round_up(struct decimal *dec)
{
    int i = dec->count - 1;
    while (i >= 0 && dec->digits[i] == '9')
        dec->digits[i--] = '0';
    if (i >= 0) {
        dec->digits[i]++;
        return;
    }
    dec->digits[0] = '1';
    dec->exponent++;
}

/* The shortest decimal that reads back as `number`, which is finite and above 0. Of several it is the nearest. A normal
 * double keeps fifteen digits, so a shorter answer is those digits without their zeros. Doubles are closer together
 * below a power of two than above it. There the nearest decimal may read back wrong while the next one up is right. */
static void shortest(struct decimal *dec, double number)
{
    for (int precision = number < 2.3e-308 ? 1 : 15; precision <= 17; precision++) {
        round_to(dec, number, precision);
        if (decimal_value(dec) == number)
            break;
        round_up(dec);
        if (decimal_value(dec) == number)
            break;
    }
    while (dec->count > 1 && dec->digits[dec->count - 1] == '0')
        dec->count--;
}

/* Like Python's repr(), but with `suffix` after a number that has no fraction. */
static void write_double(struct strbuf *out, double number, const char *suffix)
{
    if (signbit(number))
        strbuf_addch(out, '-');
    number = fabs(number);
    struct decimal dec = {"0", 1, 0};
    if (number > 0)
        shortest(&dec, number);
    if (dec.exponent < -4 || dec.exponent >= 16) {
        strbuf_addch(out, dec.digits[0]);
        if (dec.count > 1) {
            strbuf_addch(out, '.');
            strbuf_add(out, dec.digits + 1, (size_t)dec.count - 1);
        }
        strbuf_addf(out, "e%c%02d", dec.exponent < 0 ? '-' : '+', abs(dec.exponent));
        return;
    }
    if (dec.exponent < 0) {
        strbuf_addf(out, "0.%.*s", -dec.exponent - 1, "000");
        strbuf_add(out, dec.digits, (size_t)dec.count);
        return;
    }
    int whole = dec.exponent + 1;
    for (int i = 0; i < whole; i++)
        strbuf_addch(out, i < dec.count ? dec.digits[i] : '0');
    if (dec.count > whole) {
        strbuf_addch(out, '.');
        strbuf_add(out, dec.digits + whole, (size_t)(dec.count - whole));
    } else {
        strbuf_addstr(out, suffix);
    }
}

void json_write_num(struct strbuf *out, double number)
{
    if (isfinite(number))
        write_double(out, number, "");
    else
        strbuf_addstr(out, "null");
}

static void write_number(struct strbuf *out, const struct json *value, unsigned style)
{
    if ((style & JSON_PYTHON) != JSON_PYTHON) {
        strbuf_add(out, value->text, value->len);
        return;
    }
    if (strpbrk(value->text, ".eE")) {
        double number = json_text_to_double(value->text);
        if (isfinite(number))
            write_double(out, number, ".0");
        else
            strbuf_addstr(out, number < 0 ? "-Infinity" : "Infinity");
    } else if (strcmp(value->text, "-0") == 0) {
        strbuf_addch(out, '0'); /* an integer has no negative zero */
    } else {
        strbuf_add(out, value->text, value->len);
    }
}

/* ---- strings ---- */

static void write_unit(struct strbuf *out, unsigned unit)
{
    static const char hex[] = "0123456789abcdef";
    char text[6] = {'\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15], hex[unit & 15]};
    strbuf_add(out, text, sizeof(text));
}

/* Writes a character that must be escaped. */
static void write_escaped(struct strbuf *out, uint32_t cp)
{
    static const char letter[128] = {
        ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (cp < 128 && letter[cp]) {
        strbuf_addch(out, '\\');
        strbuf_addch(out, letter[cp]);
    } else if (cp >= 0x10000) {
        write_unit(out, 0xD800 + ((cp - 0x10000) >> 10));
        write_unit(out, 0xDC00 + ((cp - 0x10000) & 0x3FF));
    } else {
        write_unit(out, cp);
    }
}

/* The same if less than a block is left. Then it reads the last block of the text again, if all of it up to `at` is
 * known. */
static const char *plain_tail(const char *from, const char *at, const char *end, bool ascii)
{
    if (end - at < JSON_BLOCK && end - from >= JSON_BLOCK) {
        const char *block = end - JSON_BLOCK, *stop = block + json_plain_prefix(block, ascii);
        if (stop >= at)
            return stop;
    }
    while (at < end && json_is_plain(*at) && !(ascii && *at == 0x7F))
        at++;
    return at;
}

/* The end of the run of characters from `at` that need no escape. */
static const char *plain_end(const char *at, const char *end, bool ascii)
{
    const char *from = at;
    for (;;) {
        while (end - at >= JSON_BLOCK) {
            size_t run = json_plain_prefix(at, ascii);
            at += run;
            if (run < (size_t)JSON_BLOCK)
                break;
        }
        at = plain_tail(from, at, end, ascii);
        if (at == end || ascii || (unsigned char)*at < 0x80)
            return at;
        size_t used;
        uint32_t cp = utf8_decode(at, (size_t)(end - at), &used);
        /* A U+FFFD of the text itself ends the run too. It is copied unchanged, so that does no harm. */
        if (cp == UTF8_REPLACEMENT)
            return at;
        at += used;
    }
}

void json_write_str(struct strbuf *out, const char *text, size_t len, unsigned style)
{
    bool ascii = style & JSON_ASCII;
    const char *end = text + len;
    strbuf_grow(out, len + 2);
    strbuf_addch(out, '"');
    for (const char *at = text; at < end;) {
        const char *stop = plain_end(at, end, ascii);
        strbuf_add(out, at, (size_t)(stop - at));
        if (stop == end)
            break;
        size_t used;
        uint32_t cp = utf8_decode(stop, (size_t)(end - stop), &used);
        if (cp == 0)
            cp = UTF8_REPLACEMENT;
        if (cp < 0x80 || ascii)
            write_escaped(out, cp);
        else
            strbuf_addstr(out, "\xEF\xBF\xBD");
        at = stop + used;
    }
    strbuf_addch(out, '"');
}

size_t json_str_length(const char *text, size_t len, unsigned style)
{
    if (plain_end(text, text + len, style & JSON_ASCII) == text + len)
        return len + 2;
    CLEANUP(strbuf) struct strbuf form = STRBUF_INIT;
    json_write_str(&form, text, len, style);
    return form.len;
}

/* ---- printable text ---- */

/* The first byte from `at` on that is DEL or above ASCII. */
static const char *ascii_end(const char *at, const char *end)
{
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        /* Adding 1 carries 0x7f into the high bit. A carry out of 0xff only reaches words that stop here anyway. */
        if ((word | (word + 0x0101010101010101u)) & 0x8080808080808080u)
            break;
    }
    while (at < end && (unsigned char)*at < 0x7F)
        at++;
    return at;
}

/* The length of a well-formed character whose first byte begins no unsafe character; 0: look closer. Most letters above
 * ASCII pass here. */
static size_t harmless_char(const char *at, const char *end)
{
    unsigned char lead = (unsigned char)*at;
    size_t len = lead >= 0xC3 && lead <= 0xDF && lead != 0xCD && lead != 0xD8 ? 2
                 : lead >= 0xE4 && lead <= 0xEC                               ? 3
                                                                              : 0;
    if (!len || (size_t)(end - at) < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if (((unsigned char)at[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

/* The first character from `at` on that cannot be printed unchanged. Ignores bytes below 0x20: JSON allows them only as
 * white space. */
static const char *printable_end(const char *at, const char *end, uint32_t *cp, size_t *used)
{
    while ((at = ascii_end(at, end)) < end) {
        size_t harmless = harmless_char(at, end);
        if (harmless) {
            at += harmless;
            continue;
        }
        *cp = utf8_decode(at, (size_t)(end - at), used);
        if (utf8_unsafe(*cp) || (*cp == UTF8_REPLACEMENT && !utf8_valid(at, *used)))
            break;
        at += *used;
    }
    return at;
}

bool json_is_printable(const char *text, size_t len)
{
    uint32_t cp;
    size_t used;
    return printable_end(text, text + len, &cp, &used) == text + len;
}

size_t json_printable_growth(const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    uint32_t cp;
    size_t used, growth = 0;
    while ((at = printable_end(at, end, &cp, &used)) < end) {
        size_t written = cp == UTF8_REPLACEMENT ? 3 : cp > 0xFFFF ? 12 : 6;
        growth += written > used ? written - used : 0;
        at += used;
    }
    return growth;
}

size_t json_printed_length(const char *text, size_t len)
{
    return json_str_length(text, len, JSON_COMPACT) + json_printable_growth(text, len);
}

void json_make_printable(struct strbuf *text, size_t from)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    const char *at = text->buf + from, *end = text->buf + text->len, *first, *stop;
    uint32_t cp;
    size_t used;
    first = stop = printable_end(at, end, &cp, &used);
    for (at = first; stop < end; stop = printable_end(at, end, &cp, &used)) {
        strbuf_add(&out, at, (size_t)(stop - at));
        if (cp == UTF8_REPLACEMENT)
            strbuf_addstr(&out, "\xEF\xBF\xBD");
        else
            write_escaped(&out, cp);
        at = stop + used;
    }
    if (first == end)
        return;
    strbuf_add(&out, at, (size_t)(end - at));
    strbuf_set_len(text, (size_t)(first - text->buf));
    strbuf_add(text, out.buf, out.len);
}

/* ---- values ---- */

struct member {
    const struct json *value;
    uint32_t runtime;
};

static int by_key(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = strcmp(x->value->key, y->value->key);
    if (order)
        return order;
    return (x->runtime > y->runtime) - (x->runtime < y->runtime);
}

static int by_place(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    return (x->runtime > y->runtime) - (x->runtime < y->runtime);
}

/* The members as Python's dict would have them: equal names are one, with the last value. Without JSON_SORTED it is
 * at the place where the name came first. Returns their number. */
static size_t arrange(const struct json *object, struct member *members, unsigned style)
{
    size_t count = 0;
    json_each (member, object) {
        members[count] = (struct member){member, (uint32_t)count};
        count++;
    }
    qsort(members, count, sizeof(*members), by_key);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && strcmp(members[kept - 1].value->key, members[i].value->key) == 0)
            members[kept - 1].value = members[i].value;
        else
            members[kept++] = members[i];
    }
    if (!(style & JSON_SORTED))
        qsort(members, kept, sizeof(*members), by_place);
    return kept;
}

static void write_value(struct strbuf *out, const struct json *value, unsigned style, int depth);

static void new_line(struct strbuf *out, int depth)
{
    strbuf_addf(out, "\n%*s", 2 * depth, "");
}

static void write_item(struct strbuf *out, const struct json *item, unsigned style, int depth, bool first)
{
    if (!first)
        strbuf_add(out, ", ", (style & JSON_SPACED) && !(style & JSON_PRETTY) ? 2 : 1);
    if (style & JSON_PRETTY)
        new_line(out, depth);
    if (item->key) {
        json_write_str(out, item->key, strlen(item->key), style);
        strbuf_add(out, ": ", style & (JSON_SPACED | JSON_PRETTY) ? 2 : 1);
    }
    write_value(out, item, style, depth);
}

static void write_container(struct strbuf *out, const struct json *value, unsigned style, int depth)
{
    bool object = value->type == JSON_OBJECT;
    strbuf_addch(out, object ? '{' : '[');
    if (object && value->count > 1 && ((style & JSON_SORTED) || (style & JSON_PYTHON) == JSON_PYTHON)) {
        struct member few[16];
        CLEANUP(free) struct member *many = NULL;
        if (value->count > COUNT_OF(few))
            many = xreallocarray(NULL, value->count, sizeof(*many));
        struct member *members = many ? many : few;
        size_t count = arrange(value, members, style);
        for (size_t i = 0; i < count; i++)
            write_item(out, members[i].value, style, depth + 1, i == 0);
    } else {
        json_each (item, value) {
            write_item(out, item, style, depth + 1, item == value->child);
        }
    }
    if ((style & JSON_PRETTY) && value->count)
        new_line(out, depth);
    strbuf_addch(out, object ? '}' : ']');
}

static void write_value(struct strbuf *out, const struct json *value, unsigned style, int depth)
{
    switch (value->type) {
    case JSON_NULL:
        strbuf_add(out, "null", 4);
        break;
    case JSON_FALSE:
        strbuf_add(out, "false", 5);
        break;
    case JSON_TRUE:
        strbuf_add(out, "true", 4);
        break;
    case JSON_NUMBER:
        write_number(out, value, style);
        break;
    case JSON_STRING:
        json_write_str(out, value->text, value->len, style);
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        write_container(out, value, style, depth);
        break;
    }
}

void json_write(struct strbuf *out, const struct json *value, unsigned style)
{
    if (value)
        write_value(out, value, style, 0);
    else
        strbuf_add(out, "null", 4);
}

/* ---- the builder ---- */

static void begin_item(struct json_writer *w, const char *key)
{
    if (w->comma)
        strbuf_addch(w->out, ',');
    w->comma = true;
    if (key) {
        json_write_str(w->out, key, strlen(key), JSON_COMPACT);
        strbuf_addch(w->out, ':');
    }
}

void json_open(struct json_writer *w, const char *key, char bracket)
{
    if (bracket != '{' && bracket != '[')
        BUG("opening with '%c'", bracket);
    begin_item(w, key);
    strbuf_addch(w->out, bracket);
    w->comma = false;
}

void json_close(struct json_writer *w, char bracket)
{
    if (bracket != '}' && bracket != ']')
        BUG("closing with '%c'", bracket);
    strbuf_addch(w->out, bracket);
    w->comma = true;
}

void json_add_str(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_add_strn(w, key, text, strlen(text));
    else
        json_add_null(w, key);
}

void json_add_strn(struct json_writer *w, const char *key, const char *text, size_t len)
{
    if (!text) {
        json_add_null(w, key);
        return;
    }
    begin_item(w, key);
    json_write_str(w->out, text, len, JSON_COMPACT);
}

void json_add_int(struct json_writer *w, const char *key, int64_t number)
{
    char text[24];
    char *at = text + sizeof(text);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    begin_item(w, key);
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    strbuf_add(w->out, at, (size_t)(text + sizeof(text) - at));
}

void json_add_num(struct json_writer *w, const char *key, double number)
{
    begin_item(w, key);
    json_write_num(w->out, number);
}

void json_add_bool(struct json_writer *w, const char *key, bool value)
{
    begin_item(w, key);
    strbuf_addstr(w->out, value ? "true" : "false");
}

void json_add_null(struct json_writer *w, const char *key)
{
    json_add_raw(w, key, "null");
}

void json_add_raw(struct json_writer *w, const char *key, const char *text)
{
    begin_item(w, key);
    strbuf_addstr(w->out, text);
}

void json_add_value(struct json_writer *w, const char *key, const struct json *value)
{
    begin_item(w, key);
    json_write(w->out, value, JSON_COMPACT);
}
