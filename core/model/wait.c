#include "wait.h"
#include "base/mem.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The unit at the beginning of the text, in milliseconds; NaN: none. */
static double read_unit(const char **text)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"us", 1e-3}, {"µs", 1e-3}, {"ns", 1e-6}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t len = strlen(units[i].name);
        if (strncmp(*text, units[i].name, len) == 0) {
            *text += len;
            return units[i].ms;
        }
    }
    return NAN;
}

int64_t wait_read(const char *text, double unit_ms)
{
    double sum = 0;
    text += strspn(text, " \t");
    for (const char *from = text; from == text || *text;) {
        char *end;
        if (!isdigit((unsigned char)*text)) /* strtod would take a sign, and words */
            return -1;
        double number = strtod(text, &end);
        bool bare = text == from && end[strspn(end, " \t")] == '\0';
        const char *rest = end;
        double unit = bare ? unit_ms : read_unit(&rest);
        if (isnan(unit))
            return -1;
        sum += number * unit;
        text = bare ? end + strlen(end) : rest;
    }
    return sum < (double)WAIT_MAX_MS ? (int64_t)ceil(sum) : WAIT_MAX_MS;
}
