/* Runs harness.protocol: a host that speaks to the real harness over its pipes. A case is one script, several `runs`
 * (or `requests`), or raw lines for `stdin`. The expectations are compared with the first run; `first`, `second` and so
 * on with their run. For the result of a host, the product's executor gets the same lines. */

#include "areas.h"
#include "base/loop.h"
#include "base/mem.h"
#include "sandbox/script.h"
#include "support/fake_channel.h"
#include "support/harness_rig.h"
#include "vector.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MAX  8
#define TIMEOUT_S 10.0

struct heard {
    const char *id; /* the id that its events must carry; NULL: any */
    const struct json **events;
    size_t count, room;
};

static const char *type_of(const struct json *event)
{
    return json_str(json_get(event, "type"), "?");
}

static const struct json *first_of(const struct heard *run, const char *type)
{
    for (size_t i = 0; i < run->count; i++)
        if (strcmp(type_of(run->events[i]), type) == 0)
            return run->events[i];
    return NULL;
}

/* ---- reading the case ---- */

static const char *program_path(struct vector *v)
{
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (len <= 0)
        BUG("no path of our own");
    own[len] = '\0';
    char *slash = strrchr(own, '/');
    return arena_printf(&v->arena, "%.*s/keyturn-harness", (int)(slash - own), own);
}

static void set_up(struct vector *v, struct harness_rig *rig)
{
    size_t count = 0;
    harness_rig_init(rig, program_path(v));
    const struct json *files = in_get(v, "tools");
    json_each (file, files && files->type == JSON_OBJECT ? files : NULL) {
        CLEANUP(free) char *name = xasprintf("tools/%s", file->key);
        scratch_write(&rig->scratch, name, json_str(file, ""));
    }
    json_each (variable, in_get(v, "env")) {
        if (count == COUNT_OF(rig->env) - 1)
            BUG("more variables than the rig holds");
        rig->env[count++] = arena_printf(&v->arena, "%s=%s", variable->key, json_str(variable, ""));
    }
}

/* The members of a request; `tools` of a case are files, unless they are a list. */
static const char *const request_members[] = {
    "execution_id", "script", "timeout", "named_timeout", "mode", "required_secrets", "tools", "files", NULL};

/* A run of a case as a request line; missing members get the values that a host sends. */
static const char *request_line(struct vector *v, const struct json *run, const char *id)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    struct json_writer w = json_begin(&line);
    json_open(&w, NULL, '{');
    for (const char *const *name = request_members; *name; name++) {
        const struct json *value = json_get(run, *name);
        if (value && !(strcmp(*name, "tools") == 0 && value->type == JSON_OBJECT))
            json_add_value(&w, *name, value);
    }
    if (!json_get(run, "execution_id"))
        json_add_str(&w, "execution_id", id);
    if (!json_get(run, "script"))
        json_add_str(&w, "script", "");
    if (!json_get(run, "timeout"))
        json_add_num(&w, "timeout", TIMEOUT_S);
    if (!json_get(run, "mode"))
        json_add_str(&w, "mode", "PLAN");
    json_close(&w, '}');
    strbuf_addch(&line, '\n');
    return arena_memdup0(&v->arena, line.buf, line.len);
}

/* The id that the events of a run must carry; NULL if the request has no valid one. */
static const char *id_of(const struct json *run, const char *otherwise)
{
    const struct json *id = json_get(run, "execution_id");
    return id ? json_str(id, NULL) : otherwise;
}

/* `threads` of them, each with `events_each` logs. */
static const char *threads_script(struct vector *v)
{
    return arena_printf(&v->arena,
                        "import threading\n"
                        "def talk():\n"
                        "    for i in range(%d): emit_log('x' * i * 17)\n"
                        "threads = [threading.Thread(target=talk) for i in range(%d)]\n"
                        "for thread in threads: thread.start()\n"
                        "for thread in threads: thread.join()\n",
                        (int)in_int(v, "events_each", 1), (int)in_int(v, "threads", 1));
}

/* ---- requests and events ---- */

/* Reads all messages until script_done. */
static void hear_answer(struct vector *v, struct harness_rig *rig, const char *id, struct heard *run)
{
    const struct json *event;
    run->id = id;
    do {
        event = harness_rig_event(rig);
        if (!event) {
            vector_fail(v, "expected script_done got the end of the stream");
            return;
        }
        if (strcmp(type_of(event), "log") == 0 && !json_str(json_get(event, "execution_id"), NULL))
            continue; /* of no run: output while the tools were loaded */
        GROW(run->events, run->count, run->room);
        run->events[run->count++] = event;
    } while (strcmp(type_of(event), "script_done") != 0);
}

static void hear(struct vector *v, struct harness_rig *rig, const char *line, const char *id, struct heard *run)
{
    harness_rig_send(rig, line, strlen(line));
    hear_answer(v, rig, id, run);
}

/* One text of `stdin`: lines, each of which gets an answer, or a part of a line. */
static size_t hear_text(struct vector *v, struct harness_rig *rig, const char *text, struct heard *runs, size_t count)
{
    harness_rig_send(rig, text, strlen(text));
    for (const char *at = text; (at = strchr(at, '\n')); at++) {
        if (count == RUNS_MAX) {
            vector_fail(v, "expected at most %d lines got more", RUNS_MAX);
            return count;
        }
        hear_answer(v, rig, NULL, &runs[count++]);
    }
    return count;
}

static size_t hear_lines(struct vector *v, struct harness_rig *rig, const struct json *lines, struct heard *runs)
{
    size_t count = 0;
    if (lines->type == JSON_STRING)
        return hear_text(v, rig, lines->text, runs, 0);
    json_each (line, lines) {
        count = hear_text(v, rig, json_str(line, ""), runs, count);
    }
    return count;
}

static size_t hear_runs(struct vector *v, struct harness_rig *rig, const struct json *list, struct heard *runs)
{
    size_t count = 0;
    json_each (run, list) {
        const char *id = arena_printf(&v->arena, "e%zu", count + 1);
        if (count == RUNS_MAX) {
            vector_fail(v, "expected at most %d runs got more", RUNS_MAX);
            break;
        }
        in_only(v, run, "input.runs[]", request_members);
        hear(v, rig, request_line(v, run, id), id_of(run, id), &runs[count++]);
    }
    return count;
}

static size_t hear_all(struct vector *v, struct harness_rig *rig, struct heard *runs)
{
    const struct json *input = in_get(v, "stdin"),
                      *list = in_get(v, "runs") ? in_get(v, "runs") : in_get(v, "requests");
    if (input)
        return hear_lines(v, rig, input, runs);
    if (list)
        return hear_runs(v, rig, list, runs);
    if (in_has(v, "threads")) {
        CLEANUP(free) char *line = harness_request("e1", threads_script(v), TIMEOUT_S, NULL);
        hear(v, rig, line, "e1", &runs[0]);
        return 1;
    }
    for (const char *const *name = request_members; *name; name++)
        in_get(v, *name);
    hear(v, rig, request_line(v, v->input, "e1"), id_of(v->input, "e1"), &runs[0]);
    return 1;
}

/* ---- results ---- */

static const char *types_text(struct vector *v, const struct heard *run)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < run->count; i++)
        json_add_str(&w, NULL, type_of(run->events[i]));
    json_close(&w, ']');
    return arena_memdup0(&v->arena, text.buf, text.len);
}

static void on_done(void *user, struct script_result *take_result)
{
    *(struct script_result *)user = *take_result;
    *take_result = (struct script_result){0};
}

/* The executor's result for the lines of a run. */
static void got_host_data(struct vector *v, const struct heard *run)
{
    struct script_result result = {0};
    struct fake_clock clock;
    struct fake_channel channel;
    fake_clock_init(&clock);
    struct loop *loop = loop_new(&clock.base);
    fake_channel_init(&channel, loop);
    channel.base.ordered = true;
    script_run_start(loop, &channel.base, &(struct script_request){.execution_id = run->id, .script = "pass"},
                     &(struct script_listener){.done = on_done, .user = &result});
    for (size_t i = 0; i < run->count; i++) {
        CLEANUP(free) char *line = xasprintf("%.*s\n", (int)run->events[i]->src_len, run->events[i]->src);
        fake_channel_say(&channel, 1, line);
    }
    loop_run(loop);
    if (result.final_data)
        got_json(v, "host_final_data", result.final_data);
    else
        got_text(v, "host_final_data", result.error);
    script_result_release(&result);
    fake_channel_release(&channel);
    loop_free(loop);
}

static void got_lacks(struct vector *v, const char *name, const char *text)
{
    const struct json *want = wants(v, name);
    json_each (part, want) {
        if (strstr(text, json_str(part, "")))
            vector_fail(v, "expected %s without %s got %s", name, json_str(part, ""), text);
    }
    if (want && want->type == JSON_STRING && strstr(text, want->text))
        vector_fail(v, "expected %s without %s got %s", name, want->text, text);
}

static void got_error(struct vector *v, const struct heard *run)
{
    const struct json *error = first_of(run, "error");
    const char *message = json_str(json_get(error, "message"), NULL);
    got_bool(v, "error_reported", error != NULL);
    got_text(v, "message", message);
    got_has(v, "message_contains", message ? message : "");
    got_lacks(v, "message_lacks", message ? message : "");
    got_has(v, "traceback_contains", json_str(json_get(error, "traceback"), ""));
}

/* The expectations of a run by its number: the list of its types, or the first of them; its data, and its error. */
static void got_numbered(struct vector *v, const char *name, const struct heard *run)
{
    const struct json *want = wants(v, name), *result = first_of(run, "final_result");
    const char *message = json_str(json_get(first_of(run, "error"), "message"), NULL);
    if (want && want->type == JSON_ARRAY)
        got_json(v, name, types_text(v, run));
    else
        got_text(v, name, run->count ? type_of(run->events[0]) : NULL);
    got_json(v, arena_printf(&v->arena, "%s_types", name), types_text(v, run));
    got_text(v, arena_printf(&v->arena, "%s_message", name), message);
    got_has(v, arena_printf(&v->arena, "%s_message_contains", name), message ? message : "");
    if (result)
        got_value(v, arena_printf(&v->arena, "%s_data", name), json_get(result, "data"));
    else
        got_text(v, arena_printf(&v->arena, "%s_data", name), NULL);
}

/* All events of a type, each as an object of these members, or as the value of a single member. */
static void got_events(struct vector *v, const char *name, const struct heard *run, const char *type,
                       const char *member, const char *other)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < run->count; i++) {
        if (strcmp(type_of(run->events[i]), type) != 0)
            continue;
        if (other)
            json_open(&w, NULL, '{');
        json_add_value(&w, other ? member : NULL, json_get(run->events[i], member));
        if (other) {
            json_add_value(&w, other, json_get(run->events[i], other));
            json_close(&w, '}');
        }
    }
    json_close(&w, ']');
    got_json(v, name, arena_memdup0(&v->arena, text.buf, text.len));
}

static void got_run(struct vector *v, const struct heard *run)
{
    const struct json *result = first_of(run, "final_result"), *log = first_of(run, "log");
    bool carried = true, executed = false;
    for (size_t i = 0; i < run->count; i++) {
        const char *type = type_of(run->events[i]);
        carried &= run->id && strcmp(json_str(json_get(run->events[i], "execution_id"), ""), run->id) == 0;
        executed |= strcmp(type, "error") != 0 && strcmp(type, "script_done") != 0;
    }
    got_json(v, "types", types_text(v, run));
    got_text(v, "types_start_with", run->count ? type_of(run->events[0]) : NULL);
    got_events(v, "results", run, "final_result", "data", NULL);
    got_events(v, "logs", run, "log", "message", "level");
    got_events(v, "log_messages", run, "log", "message", NULL);
    got_events(v, "intermediates", run, "intermediate", "label", "data");
    got_text(v, "types_end_with", run->count ? type_of(run->events[run->count - 1]) : NULL);
    got_bool(v, "all_carry_execution_id", carried);
    got_bool(v, "executed", executed);
    got_int(v, "lines", (int64_t)run->count - 1); /* without script_done */
    got_bool(v, "all_valid_json", true);          /* the rig accepts no other members */
    got_text(v, "log_level", log ? json_str(json_get(log, "level"), NULL) : NULL);
    if (result)
        got_value(v, "final_data", json_get(result, "data"));
    else
        got_text(v, "final_data", NULL);
    if (wants(v, "host_final_data"))
        got_host_data(v, run);
    got_error(v, run);
}

/* Whether the harness still serves. */
static bool is_alive(struct vector *v, struct harness_rig *rig)
{
    struct heard run = {0};
    hear(v, rig, request_line(v, NULL, "alive"), "alive", &run);
    bool alive = run.count == 1;
    free(run.events);
    return alive;
}

void area_harness_protocol(struct vector *v)
{
    static const char *const names[RUNS_MAX] = {"first", "second", "third",   "fourth",
                                                "fifth", "sixth",  "seventh", "eighth"};
    struct harness_rig rig;
    struct heard runs[RUNS_MAX] = {0}, all = {0};
    const bool ends_at_once = strcmp(json_str(in_get(v, "stdin"), ""), "eof") == 0;
    size_t count, readies = 1;
    set_up(v, &rig);
    harness_rig_start(&rig);
    count = ends_at_once ? 0 : hear_all(v, &rig, runs);
    GROW(all.events, all.count, all.room);
    all.events[all.count++] = rig.ready;
    for (size_t i = 0; i < count; i++) {
        got_numbered(v, names[i], &runs[i]);
        for (size_t j = 0; j < runs[i].count; j++) {
            readies += strcmp(type_of(runs[i].events[j]), "ready") == 0;
            GROW(all.events, all.count, all.room);
            all.events[all.count++] = runs[i].events[j];
        }
    }
    if (count)
        got_run(v, &runs[0]);
    got_bool(v, "ready", true);
    got_value(v, "ready_tools", json_get(rig.ready, "tools"));
    got_value(v, "ready_effects", json_get(rig.ready, "effects"));
    got_json(v, "events", types_text(v, &all));
    got_int(v, "ready_count", (int64_t)readies);
    if (wants(v, "process_alive"))
        got_bool(v, "process_alive", is_alive(v, &rig));
    if (wants(v, "exit_code"))
        got_int(v, "exit_code", harness_rig_end(&rig));
    for (size_t i = 0; i < RUNS_MAX; i++)
        free(runs[i].events);
    free(all.events);
    harness_rig_release(&rig);
}
