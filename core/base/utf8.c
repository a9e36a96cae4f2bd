/* Decodes UTF-8, counts characters and makes hostile text harmless. Widths are in width.c.
 *
 * Malformed input follows the Unicode recommendation: the longest prefix that could begin a valid sequence becomes one
 * U+FFFD. So every reader of the same bytes counts the same number of characters. */

#include "utf8.h"
#include "mem.h"
#include "strbuf.h"
#include <stdio.h>

#define HIGH_BITS 0x8080808080808080u

/* The number of plain ASCII bytes from `at` on. Reads words; worth a call only before a run of them. */
static size_t ascii_run(const char *at, size_t len)
{
    size_t run = 0;
    for (; len - run >= 8; run += 8) {
        uint64_t word;
        memcpy(&word, at + run, sizeof(word));
        if (word & HIGH_BITS)
            break;
    }
    while (run < len && (unsigned char)at[run] < 0x80)
        run++;
    return run;
}

/* True if utf8_decode returned U+FFFD for malformed bytes, not for a U+FFFD in the text. */
static bool is_malformed(uint32_t cp, const char *at, size_t used)
{
    return cp == UTF8_REPLACEMENT && !(used == 3 && (unsigned char)at[0] == 0xEF);
}

uint32_t utf8_decode(const char *text, size_t len, size_t *used)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char lead = at[0];
    *used = 1;
    if (lead < 0x80)
        return lead;
    /* The second byte alone rules out overlong forms, surrogates and what is above U+10FFFF. */
    unsigned char least = 0x80;
    unsigned char most = 0xBF;
    size_t need;
    uint32_t cp;
    if (lead >= 0xC2 && lead <= 0xDF) {
        need = 2;
        cp = lead & 0x1F;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        need = 3;
        cp = lead & 0x0F;
        if (lead == 0xE0)
            least = 0xA0;
        else if (lead == 0xED)
            most = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        need = 4;
        cp = lead & 0x07;
        if (lead == 0xF0)
            least = 0x90;
        else if (lead == 0xF4)
            most = 0x8F;
    } else {
        return UTF8_REPLACEMENT;
    }
    for (size_t i = 1; i < need; i++) {
        if (i == len || at[i] < least || at[i] > most)
            return UTF8_REPLACEMENT;
        cp = cp << 6 | (at[i] & 0x3F);
        *used = i + 1;
        least = 0x80;
        most = 0xBF;
    }
    return cp;
}

size_t utf8_encode(uint32_t cp, char out[4])
{
    if (cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
        cp = UTF8_REPLACEMENT;
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t utf8_unfinished(const char *text, size_t len)
{
    for (size_t back = 1; back <= 3 && back <= len; back++) {
        unsigned char byte = (unsigned char)text[len - back];
        if ((byte & 0xC0) == 0x80)
            continue;
        size_t needs = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
        return needs > back ? back : 0;
    }
    return 0;
}

bool utf8_valid(const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        if ((unsigned char)text[at] < 0x80) {
            at += ascii_run(text + at, len - at);
            continue;
        }
        size_t used;
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        if (is_malformed(cp, text + at, used))
            return false;
        at += used;
    }
    return true;
}

size_t utf8_count(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t at = 0; at < len;) {
        size_t used = ascii_run(text + at, len - at);
        if (used) {
            count += used;
        } else {
            utf8_decode(text + at, len - at, &used);
            count++;
        }
        at += used;
    }
    return count;
}

size_t utf8_prefix(const char *text, size_t len, size_t chars)
{
    size_t at = 0;
    for (; at < len && chars; chars--) {
        size_t used;
        utf8_decode(text + at, len - at, &used);
        at += used;
    }
    return at;
}

void utf8_scrub(struct strbuf *out, const char *text, size_t len)
{
    size_t start = 0; /* of the valid bytes not copied yet */
    for (size_t at = 0; at < len;) {
        size_t used = ascii_run(text + at, len - at);
        if (used == 0) {
            uint32_t cp = utf8_decode(text + at, len - at, &used);
            if (is_malformed(cp, text + at, used)) {
                strbuf_add(out, text + start, at - start);
                strbuf_addstr(out, "\xEF\xBF\xBD");
                start = at + used;
            }
        }
        at += used;
    }
    strbuf_add(out, text + start, len - start);
}

/* Characters that are invisible, or change how their neighbors are ordered or joined: the bidirectional controls,
 * joiners and fillers (the empty Braille cell, the stand-in for an object), variation selectors, line separators and
 * tags. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},   {0x17B4, 0x17B5},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0x2800, 0x2800},
    {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFC},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_hidden(uint32_t cp)
{
    size_t low = 0, high = COUNT_OF(hidden);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cp > hidden[middle].last)
            low = middle + 1;
        else if (cp < hidden[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

bool utf8_unsafe(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || (cp >= hidden[0].first && is_hidden(cp));
}

/* C1 controls are spelled out like invisible characters, because every letter of ^X already means a C0 control. */
size_t utf8_spell(uint32_t cp, char out[16])
{
    if (cp < 0x20 || cp == 0x7F)
        return (size_t)snprintf(out, 16, "^%c", (char)(cp ^ 0x40));
    if (utf8_unsafe(cp))
        return (size_t)snprintf(out, 16, "<U+%04X>", (unsigned)cp);
    return 0;
}

void utf8_sanitize(struct strbuf *out, const char *text, size_t len, unsigned keep)
{
    size_t start = 0; /* of the harmless bytes not copied yet */
    for (size_t at = 0; at < len;) {
        unsigned char c = (unsigned char)text[at];
        if ((c >= 0x20 && c < 0x7F) || (c == '\n' && (keep & UTF8_KEEP_NEWLINE)) ||
            (c == '\t' && (keep & UTF8_KEEP_TAB))) {
            at++;
            continue;
        }
        size_t used;
        char spelled[16];
        uint32_t cp = utf8_decode(text + at, len - at, &used);
        size_t width = utf8_spell(cp, spelled);
        if (width || is_malformed(cp, text + at, used)) {
            strbuf_add(out, text + start, at - start);
            if (width)
                strbuf_add(out, spelled, width);
            else
                strbuf_addstr(out, "\xEF\xBF\xBD");
            start = at + used;
        }
        at += used;
    }
    strbuf_add(out, text + start, len - start);
}
