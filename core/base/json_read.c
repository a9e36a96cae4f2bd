/* Reads values from parsed JSON. Every function accepts NULL and the wrong type and returns the caller's default, so
 * a path through a document is one expression. */

#include "json.h"
#include "json_scan.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* Adds a digit, or returns false if it does not fit. The sum is negative throughout, because there is one more
 * negative number. */
static bool push_digit(int64_t *sum, int digit)
{
    return !__builtin_mul_overflow(*sum, 10, sum) && !__builtin_sub_overflow(*sum, digit, sum);
}

static locale_t plain_locale;

static void make_plain_locale(void)
{
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

const struct json *json_get(const struct json *object, const char *key)
{
    if (!object || object->type != JSON_OBJECT)
        return NULL;
    const struct json *found = NULL;
    json_each (member, object) {
        if (member->key[0] == key[0] && strcmp(member->key, key) == 0)
            found = member;
    }
    return found;
}

const struct json *json_at(const struct json *array, size_t index)
{
    if (!array || array->type != JSON_ARRAY || index >= array->count)
        return NULL;
    const struct json *item = array->child;
    while (index--)
        item = item->next;
    return item;
}

const char *json_str(const struct json *value, const char *otherwise)
{
    return value && value->type == JSON_STRING ? value->text : otherwise;
}

/* Exact for every spelling: the digits are kept apart from the exponent, so 9007199254740993.0 loses nothing. */
int64_t json_int(const struct json *value, int64_t otherwise)
{
    if (!value || value->type != JSON_NUMBER)
        return otherwise;
    const char *at = value->text;
    bool negative = *at == '-';
    int64_t sum = 0;
    long zeros = 0; /* zeros that were read but not yet pushed */
    long fraction = 0;
    bool point = false;
    for (at += negative; json_is_digit(*at) || *at == '.'; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        fraction += point;
        if (*at == '0') {
            zeros++;
            continue;
        }
        for (; zeros && sum; zeros--)
            if (!push_digit(&sum, 0))
                return otherwise;
        zeros = 0;
        if (!push_digit(&sum, *at - '0'))
            return otherwise;
    }
    if (sum == 0)
        return 0;
    long exponent = *at ? strtol(at + 1, NULL, 10) : 0;
    if (exponent > 1000000 || exponent < -1000000)
        return otherwise;
    exponent += zeros - fraction;
    if (exponent < 0)
        return otherwise;
    for (; exponent; exponent--)
        if (!push_digit(&sum, 0))
            return otherwise;
    if (!negative && sum == INT64_MIN)
        return otherwise;
    return negative ? sum : -sum;
}

double json_text_to_double(const char *text)
{
    /* strtod would want the decimal point of the user's language. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain_locale);
    return strtod_l(text, NULL, plain_locale);
}

double json_num(const struct json *value, double otherwise)
{
    if (!value || value->type != JSON_NUMBER)
        return otherwise;
    double number = json_text_to_double(value->text);
    return isfinite(number) ? number : otherwise;
}

bool json_bool(const struct json *value, bool otherwise)
{
    if (!value || (value->type != JSON_TRUE && value->type != JSON_FALSE))
        return otherwise;
    return value->type == JSON_TRUE;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};
    return names[type];
}
