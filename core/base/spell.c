/* Signs, numbers, sizes, times and money, spelled the way people read them. */

#include "spell.h"
#include "mem.h"
#include "strbuf.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    /* The variables and not setlocale: a terminal understands UTF-8 also where that locale is not installed. */
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

const char *text_dot(void)
{
    return text_utf8() ? "·" : "-";
}

const char *text_ellipsis(void)
{
    return text_utf8() ? "…" : "...";
}

const char *text_newline(void)
{
    return text_utf8() ? "⏎" : "\\n";
}

void text_count(struct strbuf *out, int64_t number)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)number);
    int from = digits[0] == '-';
    for (int i = 0; i < len; i++) {
        if (i > from && (len - i) % 3 == 0)
            strbuf_addch(out, ',');
        strbuf_addch(out, digits[i]);
    }
}

void text_bytes(struct strbuf *out, uint64_t bytes)
{
    static const char *const units[] = {"KB", "MB", "GB", "TB"};
    if (bytes < 1024) {
        text_plural(out, (int64_t)bytes, "byte", "bytes");
        return;
    }
    double size = (double)bytes / 1024;
    size_t unit = 0;
    for (; size >= 1023.5 && unit + 1 < COUNT_OF(units); unit++)
        size /= 1024;
    bool whole = size >= 9.95 || (uint64_t)(size * 1024) == (uint64_t)size * 1024;
    strbuf_addf(out, whole ? "%.0f %s" : "%.1f %s", size, units[unit]);
}

void text_ms(struct strbuf *out, int64_t ms)
{
    if (ms < 1000)
        strbuf_addf(out, "%lld ms", (long long)ms);
    else if (ms < 60000)
        strbuf_addf(out, "%.1f s", (double)(ms / 100) / 10);
    else
        strbuf_addf(out, "%lld min %02lld s", (long long)(ms / 60000), (long long)(ms / 1000 % 60));
}

void text_money(struct strbuf *out, double usd)
{
    strbuf_addf(out, fabs(usd) < 1 ? "$%.4f" : "$%.2f", usd);
    /* $0.0160 is $0.016; two decimals stay. */
    size_t point = out->len;
    while (point && out->buf[point - 1] != '.')
        point--;
    while (out->len > point + 2 && out->buf[out->len - 1] == '0')
        strbuf_set_len(out, out->len - 1);
}

void text_plural(struct strbuf *out, int64_t number, const char *one, const char *many)
{
    text_count(out, number);
    strbuf_addf(out, " %s", number == 1 ? one : many);
}
