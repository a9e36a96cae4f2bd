/* Runs the areas of the tools: output limits, artifacts, the late-write gate, the web gate, globs. */

#include "areas.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "outcomes.h"
#include "tools/artifact.h"
#include "tools/bounded.h"
#include "tools/output_limit.h"
#include "vector.h"
#include "workspace/glob.h"
#include <pthread.h>
#include <sys/stat.h>

/* ---- compact ---- */

static int container_depth(const struct json *value)
{
    int deepest = 0;
    if (!value || (value->type != JSON_ARRAY && value->type != JSON_OBJECT))
        return 0;
    json_each (item, value) {
        int depth = container_depth(item);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

/* Every text is a prefix of the original one. */
static bool texts_are_prefixes(const struct json *cut, const struct json *whole)
{
    const struct json *other = whole && whole->type == JSON_ARRAY ? whole->child : NULL;
    if (!whole || cut->type != whole->type)
        return false;
    if (cut->type == JSON_STRING)
        return cut->len <= whole->len && memcmp(cut->text, whole->text, cut->len) == 0;
    json_each (item, cut) {
        if (!texts_are_prefixes(item, cut->type == JSON_OBJECT ? json_get(whole, item->key) : other))
            return false;
        other = other ? other->next : NULL;
    }
    return true;
}

void area_compact(struct vector *v)
{
    const struct json *result = in_get(v, "result"), *compacted, *limit;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct err err = ERR_INIT;
    if (!result) {
        vector_fail(v, "expected input.result got none");
        return;
    }
    output_limit_write(&text, result, JSON_COMPACT);
    compacted = json_parse(&v->arena, text.buf, text.len, &err);
    got_bool(v, "valid_json", compacted != NULL);
    if (!compacted) {
        vector_fail(v, "expected JSON got %s", err.text);
        return;
    }
    got_bool(v, "unchanged", json_same(compacted, result));
    got_bool(v, "is_prefix", texts_are_prefixes(compacted, result));
    got_int(v, "serialized_len", (int64_t)output_limit_length(result));
    limit = wants(v, "max_container_depth_at_most");
    if (limit && container_depth(compacted) > json_int(limit, 0))
        vector_fail(v, "expected max_container_depth_at_most %s got %d", limit->text, container_depth(compacted));
    got_places(v, "", compacted);
}

/* ---- artifact.threshold ---- */

/* {"k0": 3000}: texts of this many characters, by name. */
static const struct json *x_strings(struct vector *v, const struct json *lengths)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_each (length, lengths) {
        size_t count = (size_t)json_int(length, 0);
        char *xs = arena_alloc(&v->arena, count + 1);
        memset(xs, 'x', count);
        xs[count] = '\0';
        json_add_str(&w, length->key, xs);
    }
    json_close(&w, '}');
    return vector_parse(v, text.buf);
}

/* A result with exactly this serialized length, of texts short enough not to be cut themselves. */
static const struct json *result_of_length(struct vector *v, int64_t length)
{
    const int64_t each = 1000;
    for (int64_t parts = 1; parts < 80; parts++) {
        CLEANUP(strbuf) struct strbuf lengths = STRBUF_INIT;
        struct json_writer w = json_begin(&lengths);
        json_open(&w, NULL, '{');
        for (int64_t i = 0; i < parts; i++)
            json_add_int(&w, arena_printf(&v->arena, "k%02lld", (long long)i), 0);
        json_close(&w, '}');
        int64_t left = length - (int64_t)output_limit_length(x_strings(v, vector_parse(v, lengths.buf)));
        if (left < 0 || left > parts * each)
            continue;
        strbuf_reset(&lengths);
        w = json_begin(&lengths);
        json_open(&w, NULL, '{');
        for (int64_t i = 0; i < parts; i++, left -= left < each ? left : each)
            json_add_int(&w, arena_printf(&v->arena, "k%02lld", (long long)i), left < each ? left : each);
        json_close(&w, '}');
        return x_strings(v, vector_parse(v, lengths.buf));
    }
    vector_fail(v, "expected a length that can be made got %lld", (long long)length);
    return vector_parse(v, "{}");
}

static const struct json *read_result(struct vector *v)
{
    if (in_has(v, "object_of_x_strings"))
        return x_strings(v, in_get(v, "object_of_x_strings"));
    if (in_has(v, "serialized_len"))
        return result_of_length(v, in_int(v, "serialized_len", 0));
    return in_has(v, "result") ? in_get(v, "result") : vector_parse(v, "{}");
}

static const struct json *stored_content(struct vector *v, const struct turn_rig *rig, const struct json *details)
{
    CLEANUP(strbuf) struct strbuf content = STRBUF_INIT;
    const char *id = json_str(json_get(details, "id"), "");
    if (!rig->config.artifacts || !artifact_store_get(rig->config.artifacts, rig->config.session, id, &content))
        return NULL;
    return vector_parse(v, content.buf);
}

/* The result comes from a tool of a turn, so it takes the whole path. `store_fails`: a plain file blocks the folder of
 * the store; `store` null: no store. */
void area_artifact_threshold(struct vector *v)
{
    const struct json *result = read_result(v), *details;
    CLEANUP(strbuf) struct strbuf output = STRBUF_INIT;
    struct turn_rig rig;
    struct fake_tool tool;
    json_write(&output, result, JSON_COMPACT);
    turn_rig_init(&rig);
    fake_tool_init(&tool, "tool", EFFECT_READ_ONLY);
    tool.output = output.buf;
    turn_rig_add_tool(&rig, &tool.tool);
    struct artifact_store *store = rig.config.artifacts;
    if (in_is_null(v, "store"))
        rig.config.artifacts = NULL;
    if (in_flag(v, "store_fails")) {
        scratch_remove(&rig.scratch, "artifacts");
        scratch_write(&rig.scratch, "artifacts", "in the way");
    }
    turn_rig_open(&rig);
    fake_answer_call(fake_provider_answer(rig.model), NULL, "tool", "{}");
    turn_rig_turn(&rig, "do it");

    const struct event *finished = turn_rig_finished(&rig, "c1");
    details = finished ? vector_outcome_details(v, finished) : NULL;
    got_outcome(v, finished);
    got_int(v, "serialized_len", (int64_t)output_limit_length(result));
    got_bool(v, "never_raises", finished && turn_rig_count(&rig, EVENT_TURN_FINISHED) == 1);
    got_bool(v, "truncated_inline", json_bool(json_get(details, "truncated"), false));
    got_int(v, "artifacts", (int64_t)artifact_store_count(store, NULL));
    got_places(v, "artifact_", stored_content(v, &rig, details));
    got_places(v, "", json_get(details, "output") ? json_get(details, "output") : details);
    rig.config.artifacts = store;
    turn_rig_release(&rig);
    fake_tool_release(&tool);
}

/* ---- artifact.store ---- */

struct storer {
    pthread_t thread;
    struct artifact_store *store;
    int64_t count;
    char **ids;
};

static void *store_in_thread(void *data)
{
    struct storer *storer = data;
    for (int64_t i = 0; i < storer->count; i++) {
        struct artifact *artifact = artifact_store_put(storer->store, "s1", "tool", "content", 7);
        storer->ids[i] = artifact ? xstrdup(artifact->id) : NULL;
        artifact_free(artifact);
    }
    return NULL;
}

static void store_in_threads(struct vector *v, struct artifact_store *store)
{
    int64_t threads = in_int(v, "threads", 1), each = in_int(v, "each", 1);
    struct storer *storers = arena_calloc(&v->arena, (size_t)threads, sizeof(*storers));
    struct hash_map distinct = {0};
    for (int64_t i = 0; i < threads; i++) {
        storers[i] = (struct storer){
            .store = store, .count = each, .ids = arena_calloc(&v->arena, (size_t)each, sizeof(char *))};
        pthread_create(&storers[i].thread, NULL, store_in_thread, &storers[i]);
    }
    for (int64_t i = 0; i < threads; i++) {
        pthread_join(storers[i].thread, NULL);
        for (int64_t n = 0; n < each; n++) {
            if (storers[i].ids[n])
                hash_map_put(&distinct, storers[i].ids[n], 1);
            free(storers[i].ids[n]);
        }
    }
    got_int(v, "distinct_ids", (int64_t)distinct.count);
    hash_map_release(&distinct);
}

/* `store`: number of artifacts per session; `cleanup`: one of the sessions. */
static void store_and_clean(struct vector *v, struct artifact_store *store)
{
    CLEANUP(strbuf) struct strbuf left = STRBUF_INIT;
    struct json_writer w = json_begin(&left);
    const char *cleaned = in_text(v, "cleanup", NULL);
    json_each (session, in_get(v, "store")) {
        for (int64_t i = json_int(session, 0); i > 0; i--)
            artifact_free(artifact_store_put(store, session->key, "tool", "content", 7));
    }
    if (cleaned)
        got_int(v, "removed", (int64_t)artifact_store_cleanup(store, cleaned));
    json_open(&w, NULL, '{');
    json_each (session, in_get(v, "store")) {
        int64_t count = (int64_t)artifact_store_count(store, session->key);
        if (count)
            json_add_int(&w, session->key, count);
    }
    json_close(&w, '}');
    got_json(v, "left", left.buf);
}

static char *retrieve(struct artifact_store *store, const char *session, const char *id)
{
    struct strbuf content = STRBUF_INIT;
    return artifact_store_get(store, session, id, &content) ? strbuf_detach(&content, NULL) : NULL;
}

/* `at_s`: the artifacts found this many seconds after the store. */
static void got_over_time(struct vector *v, struct artifact_store *store, struct fake_clock *clock, const char *session,
                          const char *id)
{
    CLEANUP(strbuf) struct strbuf results = STRBUF_INIT;
    struct json_writer w = json_begin(&results);
    int64_t stored_us = clock->now_us;
    json_open(&w, NULL, '[');
    json_each (at, in_get(v, "at_s")) {
        CLEANUP(free) char *content = NULL;
        clock->now_us = stored_us + (int64_t)(json_num(at, 0) * 1e6);
        content = retrieve(store, session, id);
        json_add_str(&w, NULL, content);
    }
    json_close(&w, ']');
    got_json(v, "results", results.buf);
}

static void got_artifact(struct vector *v, const char *base, const struct artifact *artifact)
{
    CLEANUP(free) char *real = realpath(artifact->path, NULL);
    CLEANUP(free) char *real_base = realpath(base, NULL);
    vector_bind(v, "id", artifact->id);
    got_pattern(v, "id_pattern", artifact->id);
    got_text(v, "file", artifact->path);
    got_int(v, "summary_len", (int64_t)utf8_count(artifact->summary, strlen(artifact->summary)));
    got_prefix(v, "summary_prefix", artifact->summary);
    got_text(v, "summary", artifact->summary);
    got_int(v, "size_bytes", (int64_t)artifact->size);
    got_int(v, "ttl_s", artifact->ttl_s);
    got_text(v, "tool", artifact->tool);
    got_text(v, "session", artifact->session);
    got_bool(v, "inside_base",
             real && real_base && strncmp(real, real_base, strlen(real_base)) == 0 && real[strlen(real_base)] == '/');
}

static void use_artifact(struct vector *v, struct artifact_store *store, struct fake_clock *clock, const char *base,
                         const struct artifact *artifact)
{
    CLEANUP(free) char *found = NULL;
    got_artifact(v, base, artifact);
    if (in_int(v, "ttl_s", artifact->ttl_s) != artifact->ttl_s)
        vector_fail(v, "expected the time to live of input.ttl_s got %lld, which is fixed", (long long)artifact->ttl_s);
    if (in_flag(v, "delete_file"))
        unlink(artifact->path);
    const char *id = in_text(v, "id", artifact->id);
    got_over_time(v, store, clock, artifact->session, id);
    found = retrieve(store, artifact->session, id);
    got_text(v, "content", found);
}

void area_artifact_store(struct vector *v)
{
    struct scratch scratch;
    struct fake_clock clock;
    struct err err = ERR_INIT;
    struct artifact *artifact;
    const char *content = in_text(v, "content", "content");
    CLEANUP(free) char *base = NULL;
    scratch_init(&scratch);
    base = scratch_path(&scratch, "artifacts");
    vector_bind(v, "base", base);
    fake_clock_init(&clock);
    struct artifact_store *store = artifact_store_open(base, &clock.base, &err);
    if (!store)
        BUG("%s", err.text);
    if (in_has(v, "store"))
        store_and_clean(v, store);
    if (in_has(v, "threads"))
        store_in_threads(v, store);
    got_int(v, "index", (int64_t)artifact_store_count(store, NULL));

    if (in_flag(v, "store_fails")) { /* a plain file in place of its folder */
        scratch_remove(&scratch, "artifacts");
        scratch_write(&scratch, "artifacts", "in the way");
    }
    artifact =
        artifact_store_put(store, in_text(v, "session", "s1"), in_text(v, "tool", "tool"), content, strlen(content));
    got_bool(v, "raises", false); /* it has no way to exit */
    got_text(v, "ref", artifact ? artifact->id : NULL);
    if (artifact)
        use_artifact(v, store, &clock, base, artifact);
    artifact_free(artifact);
    artifact_store_close(store);
    scratch_release(&scratch);
}

/* ---- latewrite.gate ---- */

/* "running t1", "timeout t1", "complete t1", "fail t1", "deny t1", "status t1", "accepting", "close". */
static bool trace_op(struct call_states *trace, const char *op, struct json_writer *w)
{
    const char *space = strchr(op, ' ');
    const char *id = space ? space + 1 : "";
    CLEANUP(free) char *verb = space ? xmemdup0(op, (size_t)(space - op)) : xstrdup(op);
    const char *const settle[] = {"complete", "fail", "deny"};
    const enum tool_state as[] = {TOOL_STATE_COMPLETED, TOOL_STATE_FAILED, TOOL_STATE_DENIED};
    for (size_t i = 0; i < COUNT_OF(settle); i++)
        if (strcmp(verb, settle[i]) == 0) {
            json_add_bool(w, NULL, call_states_complete(trace, id, as[i]));
            return true;
        }
    if (strcmp(verb, "status") == 0) {
        const char *name = vector_state_name(tool_state(trace, id));
        json_add_str(w, NULL, *name ? name : NULL);
        return true;
    }
    if (strcmp(verb, "accepting") == 0) {
        json_add_bool(w, NULL, call_states_accepting_writes(trace));
        return true;
    }
    json_add_null(w, NULL);
    if (strcmp(verb, "running") == 0)
        call_states_running(trace, id);
    else if (strcmp(verb, "timeout") == 0)
        call_states_time_out(trace, id);
    else if (strcmp(verb, "close") == 0)
        call_states_close_writes(trace);
    else
        return false;
    return true;
}

void area_latewrite_gate(struct vector *v)
{
    CLEANUP(strbuf) struct strbuf results = STRBUF_INIT;
    struct json_writer w = json_begin(&results);
    struct call_states trace;
    call_states_init(&trace);
    json_open(&w, NULL, '[');
    json_each (op, in_get(v, "ops")) {
        if (!trace_op(&trace, json_str(op, ""), &w))
            vector_fail(v, "expected an operation the runner understands got input.ops[] = %s", json_str(op, "?"));
    }
    json_close(&w, ']');
    got_json(v, "results", results.buf);
    call_states_release(&trace);
}

/* ---- webmode.gate ---- */

/* A tool of that name in a turn with that mode; its work does not matter here. */
void area_webmode_gate(struct vector *v)
{
    const char *mode_name = in_text(v, "web_mode", "auto");
    int mode = web_mode_from_name(mode_name);
    struct turn_rig rig;
    struct fake_tool tool;
    if (mode < 0) {
        vector_fail(v, "expected a web mode of the product got %s", mode_name);
        return;
    }
    turn_rig_init(&rig);
    turn_rig_no_tools(&rig);
    fake_tool_init(&tool, in_text(v, "tool", "web_search"), EFFECT_NETWORK);
    turn_rig_add_tool(&rig, &tool.tool);
    rig.config.web = (enum web_mode)mode;
    turn_rig_open(&rig);
    fake_answer_call(fake_provider_answer(rig.model), NULL, tool.tool.spec.name, "{}");
    turn_rig_turn(&rig, "do it");
    got_outcome(v, turn_rig_finished(&rig, "c1"));
    got_trace(v, &rig, "c1");
    got_int(v, "registry_calls", atomic_load(&tool.executions));
    got_int(v, "tool_messages", (int64_t)vector_tool_messages(v, &rig, NULL));
    turn_rig_release(&rig);
    fake_tool_release(&tool);
}

/* ---- glob.match ---- */

void area_glob_match(struct vector *v)
{
    struct err err = ERR_INIT;
    struct glob *glob = glob_new(in_text(v, "pattern", ""), &err);
    got_text(v, "error", glob ? NULL : "bad_pattern");
    if (glob)
        got_bool(v, "match", glob_match(glob, in_text(v, "name", "")));
    else if (wants(v, "match"))
        vector_fail(v, "expected a pattern got: %s", err.text);
    in_get(v, "name");
    glob_free(glob);
}
