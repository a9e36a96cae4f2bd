/* Parses a request line of the host. It checks the line as untrusted input, and answers a bad request with an error
 * instead of guessing. */

#include "request.h"
#include "base/arena.h"
#include "base/json.h"
#include "record.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The longest run: the kernel counts processor time in whole seconds of 32 bits. */
#define TIMEOUT_MAX (7.0 * 24 * 3600)

/* Returns the line of a script (still escaped) that holds a NUL; 0 if none. The answer names that line, as for any
 * other mistake in a script. */
static unsigned nul_line(const char *escaped, size_t len)
{
    unsigned line = 1;
    for (size_t i = 0; i + 1 < len; i++) {
        if (escaped[i] != '\\')
            continue;
        if (len - i >= 6 && memcmp(escaped + i, "\\u0000", 6) == 0)
            return line;
        line += escaped[i + 1] == 'n';
        i++;
    }
    return 0;
}

/* The same for a value of the request, whose text may have been parsed with its NULs replaced. */
static unsigned nul_in(const struct json *value, const char *line, const char *text)
{
    return text == line ? 0 : nul_line(line + (value->src - text), value->src_len);
}

static int take_id(struct request *request, const struct json *value, const char *line, const char *text,
                   struct err *err)
{
    if (!value)
        return err_set(err, "the request has no execution_id");
    if (value->type != JSON_STRING)
        return err_set(err, "execution_id must be a text, not %s", json_type_name(value->type));
    if (value->len > REQUEST_ID_MAX)
        return err_set(err, "execution_id is longer than %d bytes", REQUEST_ID_MAX);
    if (nul_in(value, line, text))
        return err_set(err, "execution_id holds a NUL character"); /* no event could carry it */
    request->id = value->text;
    return 0;
}

static int take_timeout(struct request *request, const struct json *value, const struct json *named, struct err *err)
{
    if (!value || value->type != JSON_NUMBER)
        return err_set(err, "timeout must be a number of seconds, not %s",
                       value ? json_type_name(value->type) : "missing");
    request->timeout = json_num(value, 0);
    if (!(request->timeout >= 1) || request->timeout > TIMEOUT_MAX)
        return err_set(err, "timeout must be between 1 and %.0f seconds, not %.40s", TIMEOUT_MAX, value->text);
    request->named = json_num(named, request->timeout);
    if (!(request->named >= 1) || request->named > TIMEOUT_MAX)
        return err_set(err, "named_timeout must be between 1 and %.0f seconds", TIMEOUT_MAX);
    return 0;
}

static int take_mode(const struct json *value, struct err *err)
{
    const char *mode = json_str(value, NULL);
    /* The modes differ only on the host's side. A missing mode means the default one. */
    if (!value || (mode && (strcmp(mode, "PLAN") == 0 || strcmp(mode, "INTERACTIVE") == 0)))
        return 0;
    return err_set(err, "unknown mode %.60s (PLAN or INTERACTIVE)", mode ? mode : json_type_name(value->type));
}

/* Reads a list of names; NULL and 0 if it is missing. Error messages call the names `what`. */
static int take_names(const char *const **names, size_t *count, struct arena *arena, const struct json *list,
                      const char *field, const char *what, struct err *err)
{
    const char **taken;
    if (!list || list->type == JSON_NULL)
        return 0;
    if (list->type != JSON_ARRAY)
        return err_set(err, "%s must be a list of names, not %s", field, json_type_name(list->type));
    taken = arena_calloc(arena, list->count ? list->count : 1, sizeof(*taken));
    json_each (name, list) {
        if (name->type != JSON_STRING || name->len == 0 || strchr(name->text, '='))
            return err_set(err, "%s must hold names of %s", field, what);
        taken[(*count)++] = name->text;
    }
    *names = taken;
    return 0;
}

static int take_secrets(struct request *request, struct arena *arena, const struct json *list, struct err *err)
{
    return take_names(&request->secrets, &request->secret_count, arena, list, "required_secrets",
                      "environment variables", err);
}

static int take_tools(struct request *request, struct arena *arena, const struct json *list, struct err *err)
{
    request->all_tools = !list || list->type == JSON_NULL;
    return take_names(&request->tools, &request->tool_count, arena, list, "tools", "tools", err);
}

int request_parse(struct request *request, struct arena *arena, const char *line, size_t len, struct err *err)
{
    const char *text = record_without_nul(arena, line, len);
    const struct json *object = json_parse(arena, text, len, err);
    unsigned at;
    *request = (struct request){0};
    if (!object)
        return err_prefix(err, "the request is not JSON");
    if (object->type != JSON_OBJECT)
        return err_set(err, "the request must be an object, not %s", json_type_name(object->type));
    if (take_id(request, json_get(object, "execution_id"), line, text, err) < 0)
        return -1;
    const struct json *script = json_get(object, "script");
    if (!script || script->type != JSON_STRING)
        return err_set(err, "script must be a text, not %s", script ? json_type_name(script->type) : "missing");
    if ((at = nul_in(script, line, text)))
        return err_set(err, "SyntaxError: the script holds a NUL character (<script>, line %u)", at);
    request->script = script->text;
    request->script_len = script->len;
    if (take_timeout(request, json_get(object, "timeout"), json_get(object, "named_timeout"), err) < 0 ||
        take_mode(json_get(object, "mode"), err) < 0)
        return -1;
    if (take_secrets(request, arena, json_get(object, "required_secrets"), err) < 0 ||
        take_tools(request, arena, json_get(object, "tools"), err) < 0)
        return -1;
    return files_parse(&request->files, &request->file_count, arena, json_get(object, "files"), err);
}
