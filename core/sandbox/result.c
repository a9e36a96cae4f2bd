/* The result of a script as a value: written as JSON, and released. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "executor.h"
#include <string.h>

#define TRACEBACK_SHOWN 2000

static void release_parts(struct script_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(parts[i].label); /* and with it the data */
    free(parts);
}

void script_result_release(struct script_result *result)
{
    free(result->execution_id);
    free(result->final_data);
    free(result->error);
    free(result->traceback);
    release_parts(result->intermediates, result->intermediate_count);
    release_parts(result->logs, result->log_count);
    *result = (struct script_result){0};
}

bool script_result_keeps_box(const struct script_result *result)
{
    return result->reusable && result->success;
}

static void add_json(struct json_writer *w, const char *key, const char *json)
{
    if (json)
        json_add_raw(w, key, json);
    else
        json_add_null(w, key);
}

const char *script_traceback_end(const char *traceback)
{
    size_t len = strlen(traceback);
    if (len <= TRACEBACK_SHOWN)
        return traceback;
    const char *cut = traceback + len - TRACEBACK_SHOWN;
    const char *newline = strchr(cut, '\n');
    if (newline && newline[1])
        return newline + 1;
    while ((*cut & 0xC0) == 0x80) /* inside a character */
        cut++;
    return cut;
}

void script_result_write(struct strbuf *out, const struct script_result *result)
{
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "success", result->success);
    json_add_str(&w, "execution_id", result->execution_id);
    add_json(&w, "final_data", result->final_data);
    json_open(&w, "intermediates", '[');
    for (size_t i = 0; i < result->intermediate_count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "label", result->intermediates[i].label);
        add_json(&w, "data", result->intermediates[i].data);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_open(&w, "logs", '[');
    for (size_t i = 0; i < result->log_count; i++) {
        json_open(&w, NULL, '{');
        json_add_str(&w, "message", result->logs[i].data);
        json_add_str(&w, "level", result->logs[i].label);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_add_str(&w, "error", result->error);
    json_add_str(&w, "traceback", result->traceback);
    json_add_bool(&w, "step_done", result->step_done);
    json_add_int(&w, "duration_ms", result->duration_ms);
    json_add_int(&w, "output_bytes", (int64_t)result->output_bytes);
    json_close(&w, '}');
}
