/* Describes an event in words: as a row, or as a sentence of a summary.
 *
 * A row consists of parts separated by blanks. A part whose value is missing or empty is dropped with the words
 * around it. So the same parts serve an outcome with an error and one without. Lists name their first items.
 *
 * Below are the sentences, one function for each type that has one. */

#include "base/json.h"
#include "base/mem.h"
#include "base/spell.h"
#include "base/utf8.h"
#include "session.h"
#include "words.h"
#include <ctype.h>
#include <string.h>

/* Enough for the widest list; the inspector shows the whole text. */
#define TEXT_CHARS   160
#define EDITED_CHARS 199
#define ITEMS_SHOWN  4

/* Adds the beginning of a text, with every run of white space as one space. In a value (`exact`) a run with a line
 * break becomes \n, because an argument of two lines differs from the same on one line. Prose may break anywhere. */
static void add_flat(struct strbuf *out, const char *text, size_t len, size_t chars, bool exact)
{
    size_t keep = utf8_prefix(text, len, chars);
    bool gap = false, any = false, broken = false;
    for (size_t i = 0; i < keep; i++) {
        if (isspace((unsigned char)text[i])) {
            gap = any;
            broken |= exact && text[i] == '\n';
            continue;
        }
        if (gap)
            strbuf_addstr(out, broken ? "\\n" : " ");
        gap = broken = false;
        any = true;
        strbuf_addch(out, text[i]);
    }
    if (keep < len)
        strbuf_addstr(out, "…");
}

/* Adds a row: parts between bars, each with one value. %s is prose, %-s our own words, %jd a number that may be
 * EVENT_NULL_INT, %g any number. */
__attribute__((format(printf, 2, 3))) static void row(struct strbuf *out, const char *parts, ...)
{
    size_t from = out->len;
    va_list args;
    va_start(args, parts);
    for (const char *at = parts, *end; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, '|');
        const char *value = strchr(at, '%'), *behind = value + strcspn(value, "sdg") + 1, *text;
        size_t start = out->len;
        strbuf_addstr(out, start > from ? " " : "");
        strbuf_add(out, at, (size_t)(value - at));
        size_t empty = out->len;
        if (behind[-1] == 's') {
            text = va_arg(args, const char *);
            if (text && value[1] == '-')
                strbuf_addstr(out, text);
            else if (text)
                add_flat(out, text, strlen(text), TEXT_CHARS, false);
        } else if (behind[-1] == 'd') {
            intmax_t number = va_arg(args, intmax_t);
            if (number != EVENT_NULL_INT)
                strbuf_addf(out, "%jd", number);
        } else {
            json_write_num(out, va_arg(args, double));
        }
        if (out->len == empty)
            strbuf_set_len(out, start);
        else
            strbuf_add(out, behind, (size_t)(end - behind));
    }
    va_end(args);
}

/* ---- lists and records, in the arena ---- */

static const char *exact(struct arena *arena, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (text)
        add_flat(&out, text, strlen(text), TEXT_CHARS, true);
    return arena_memdup0(arena, out.buf, out.len);
}

/* True if a record has the field at this offset. A line that a person wrote may lack it. */
static bool has_field(enum event_record record, const void *body, size_t offset)
{
    struct event_layout layout = event_record_layout(record);
    uint64_t present = *(const uint64_t *)body;
    for (size_t i = 0; present && i < layout.count; i++)
        if (layout.fields[i].offset == offset)
            return present >> i & 1;
    return true;
}

/* The first names of a list of `count` items of `stride` bytes. `name` and, in records of files, `added` are the
 * offsets in an item; `removed` follows `added`. */
static const char *names(struct arena *arena, const void *items, size_t count, size_t stride, size_t name,
                         enum event_record record, size_t added)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * stride;
        strbuf_addstr(&out, i ? ", " : "");
        if (i == ITEMS_SHOWN) {
            strbuf_addf(&out, "%zu more", count - i);
            break;
        }
        strbuf_addstr(&out, exact(arena, *(const char *const *)(item + name)));
        const int64_t *lines = (const void *)(item + added);
        if (record && has_field(record, item, added))
            strbuf_addf(&out, " +%lld -%lld", (long long)lines[0], (long long)lines[1]);
    }
    return arena_memdup0(arena, out.buf, out.len);
}
#define STRINGS(list) names(&arena, (list).items, (list).count, sizeof(*(list).items), 0, EVENT_RECORD_NONE, 0)
#define NAMES(list, record, name) \
    names(&arena, (list).items, (list).count, sizeof(*(list).items), offsetof(struct event_##record, name), 0, 0)
#define FILES(list, record)                                                                                 \
    names(&arena, (list).items, (list).count, sizeof(*(list).items), offsetof(struct event_##record, path), \
          EVENT_RECORD_##record, offsetof(struct event_##record, added))

static const char *call_named(struct arena *arena, const struct session *session, int64_t turn, const char *id)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (id)
        words_call_number(&out, session, id, turn);
    return arena_memdup0(arena, out.buf, out.len);
}

/* The call that a question is about. */
static const char *asking_named(struct arena *arena, const struct session *session, const char *ask)
{
    uint32_t row = session && ask ? session_find_ask(session, ask) : SESSION_NONE;
    uint32_t call = row != SESSION_NONE ? session->asks[row].call : SESSION_NONE;
    return call != SESSION_NONE ? arena_printf(arena, "#%u", call + 1) : exact(arena, ask);
}

/* The call whose write this checkpoint restores. */
static const char *writer_named(struct arena *arena, const struct session *session, const char *checkpoint)
{
    uint32_t row = session ? session_find_checkpoint(session, checkpoint) : SESSION_NONE;
    uint32_t call = row != SESSION_NONE ? session->asks[row].call : SESSION_NONE;
    return call != SESSION_NONE ? arena_printf(arena, "#%u", call + 1) : NULL;
}

static const char *gate_named(struct arena *arena, const struct session *session, int64_t turn, const char *gate,
                              const char *call)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    words_gate(&out, call ? session : NULL, gate, call, turn); /* not the wave that is next now */
    return arena_memdup0(arena, out.buf, out.len);
}

static const char *counted(struct arena *arena, int64_t number, const char *one, const char *more)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (number != EVENT_NULL_INT)
        text_plural(&out, number, one, more);
    return arena_memdup0(arena, out.buf, out.len);
}

static const char *duration(struct arena *arena, int64_t ms)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (ms != EVENT_NULL_INT)
        text_ms(&out, ms);
    return arena_memdup0(arena, out.buf, out.len);
}

static const char *size_of_bytes(struct arena *arena, int64_t bytes)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (bytes != EVENT_NULL_INT)
        text_bytes(&out, bytes > 0 ? (uint64_t)bytes : 0);
    return arena_memdup0(arena, out.buf, out.len);
}

/* "#1, #2 | #3" */
static const char *waves_named(struct arena *arena, const struct session *session, int64_t turn,
                               const struct event_plan_wave_list *waves)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    for (size_t i = 0; i < waves->count && i < ITEMS_SHOWN; i++) {
        const struct event_strs *calls = &waves->items[i].calls;
        strbuf_addstr(&out, out.len && calls->count ? " | " : "");
        for (size_t k = 0; k < calls->count && k < ITEMS_SHOWN; k++) {
            strbuf_addstr(&out, k ? ", " : "");
            words_call_number(&out, session, calls->items[k], turn);
        }
        if (calls->count > ITEMS_SHOWN)
            strbuf_addf(&out, ", %zu more", calls->count - ITEMS_SHOWN);
    }
    if (waves->count > ITEMS_SHOWN)
        strbuf_addf(&out, " | %zu more", waves->count - ITEMS_SHOWN);
    return arena_memdup0(arena, out.buf, out.len);
}

static const char *model_named(struct arena *arena, const struct event_model_info *model)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (model)
        strbuf_addf(&out, "%s%s%s", exact(arena, model->provider), model->provider && model->name ? "/" : "",
                    exact(arena, model->name));
    return arena_memdup0(arena, out.buf, out.len);
}

/* An amount of a budget. A recording may claim any number; only plausible ones get a unit. */
static void add_plausible(struct strbuf *out, const char *key, double amount)
{
    if (fabs(amount) < 1e15)
        words_amount(out, key, amount);
    else
        json_write_num(out, amount);
}

/* The first of the values that are known. */
static const char *budget_named(struct arena *arena, const struct event_budget_values *values)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    struct event_layout layout = event_record_layout(EVENT_RECORD_budget_values);
    size_t count = 0;
    for (size_t i = 0; values && i < layout.count; i++) {
        size_t offset = layout.fields[i].offset;
        if (!has_field(EVENT_RECORD_budget_values, values, offset) || count++ >= ITEMS_SHOWN)
            continue;
        strbuf_addstr(&out, count > 1 ? ", " : "");
        add_plausible(&out, layout.fields[i].name, *(const double *)((const char *)values + offset));
    }
    if (count > ITEMS_SHOWN)
        strbuf_addf(&out, ", %zu more", count - ITEMS_SHOWN);
    return arena_memdup0(arena, out.buf, out.len);
}

/* JSON of tools: arguments and attributes, by their subject. */
static const char *subject_named(struct arena *arena, const char *text)
{
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT, out = STRBUF_INIT;
    const struct json *value = event_leaf(arena, text);
    words_subject(&words, value);
    for (const char *at = words.buf; *at; at++)
        strbuf_add(&out, *at == '\n' ? "\\n" : at, *at == '\n' ? 2 : 1);
    return exact(arena, out.len ? out.buf : json_str(value, ""));
}

static const char *script_named(struct arena *arena, const char *text)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    const struct json *sent = event_leaf(arena, text);
    words_script_event(&out, sent);
    return exact(arena, out.len ? out.buf : json_str(json_get(sent, "type"), text));
}

/* ---- rows ---- */

/* Describes a failed, denied or long outcome. */
static const char *outcome_named(struct arena *arena, const struct event_tool_finished *e)
{
    const char *artifact = e->artifact ? e->artifact->path ? e->artifact->path : e->artifact->id : NULL;
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    row(&out, "%-s|%-s|%-s", exact(arena, e->failure ? e->failure->error : NULL),
        exact(arena, e->denied ? e->denied->reason : NULL), exact(arena, artifact));
    return arena_memdup0(arena, out.buf, out.len);
}

/* "done", "denied": as the tools pane shows it. */
static const char *outcome_word(const struct event_tool_finished *e)
{
    static const char *const words[][2] = {
        {"result", "done"}, {"artifact", "done"}, {"failure", "failed"}, {"timeout", "timed out"}};
    for (size_t i = 0; e->outcome && i < COUNT_OF(words); i++)
        if (strcmp(e->outcome, words[i][0]) == 0)
            return words[i][1];
    return e->denied && words_skipped(e->denied) ? "skipped" : e->outcome;
}

static void event_row(struct strbuf *out, const struct session *session, const struct event *event)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
#define CALL(id) call_named(&arena, session, event->turn, id)
#define ROW(ID, member, ...)                             \
    case EVENT_##ID: {                                   \
        const struct event_##member *e = &event->member; \
        row(out, __VA_ARGS__);                           \
        break;                                           \
    }
    /* clang-format off */
    switch (event->type) {
    ROW(SESSION_STARTED, session_started, "%s|%-s|in %s", e->session, model_named(&arena, e->model), e->workspace)
    ROW(TURN_STARTED, turn_started, "%s", e->prompt)
    ROW(CONTEXT_LOADED, context_loaded, "memory: %-s|pack: %-s",
        NAMES(e->memory, memory_item, text), NAMES(e->pack, pack_entry, path))
    ROW(BUDGET_OPENED, budget_opened, "%-s", budget_named(&arena, e->limits))
    ROW(TURN_PREPARED, turn_prepared, "messages: %jd|tools: %-s",
        e->messages.count ? (int64_t)e->messages.count : EVENT_NULL_INT, STRINGS(e->tools))
    ROW(MODEL_REQUESTED, model_requested, "step %jd", e->step)
    ROW(MODEL_DELTA, model_delta, "%s|%s", e->text, e->thinking)
    ROW(MODEL_RESPONDED, model_responded, "step %jd|%-s|%s", e->step, NAMES(e->tool_calls, tool_request, name), e->text)
    ROW(MODEL_FAILED, model_failed, "step %jd|attempt %jd|%s|retry in %-s",
        e->step, e->attempt, e->error, duration(&arena, e->retry_in_ms))
    ROW(MODEL_CHANGED, model_changed, "%-s|by %s", model_named(&arena, e->model), e->by)
    ROW(TOOLS_CHANGED, tools_changed, "added: %-s|changed: %-s|removed: %-s",
        STRINGS(e->added), STRINGS(e->changed), STRINGS(e->removed))
    ROW(CONTEXT_COMPACTED, context_compacted, "step %jd|%-s|now %jd|%s",
        e->step, counted(&arena, e->before, "token", "tokens"), e->after, e->how)
    ROW(WAVES_PLANNED, waves_planned, "step %jd|%-s", e->step, waves_named(&arena, session, event->turn, &e->waves))
    ROW(TOOL_STARTED, tool_started, "%-s|%s|%-s", CALL(e->call), e->tool, subject_named(&arena, e->arguments))
    ROW(TOOL_OUTPUT, tool_output, "%-s|%s|%s", CALL(e->call), e->stream, e->text)
    ROW(SCRIPT_EVENT, script_event, "%-s|%-s", CALL(e->call), script_named(&arena, e->event))
    ROW(WRITE_PROPOSED, write_proposed, "%-s|%-s", CALL(e->call), FILES(e->files, proposed_file))
    ROW(WRITE_DECIDED, write_decided, "%-s|%s|by %s|%s",
        asking_named(&arena, session, e->ask), e->decision, e->by, e->reason)
    ROW(CHECKPOINT_SAVED, checkpoint_saved, "%-s|%-s", CALL(e->call), STRINGS(e->paths))
    ROW(WRITE_APPLIED, write_applied, "%-s|%-s", CALL(e->call), FILES(e->files, applied_file))
    ROW(WRITE_UNDONE, write_undone, "%-s|%-s", writer_named(&arena, session, e->checkpoint), STRINGS(e->paths))
    ROW(WRITE_REDONE, write_redone, "%-s|%-s", writer_named(&arena, session, e->checkpoint), STRINGS(e->paths))
    ROW(TOOL_FINISHED, tool_finished, "%-s|%s|%s|%-s|%-s",
        CALL(e->call), e->tool, outcome_word(e), duration(&arena, e->elapsed_ms), outcome_named(&arena, e))
    ROW(WORKSPACE_OP, workspace_op, "%s|%-s|%-s|%s",
        e->op, duration(&arena, e->elapsed_ms), subject_named(&arena, e->attrs), e->error)
    ROW(WORKSPACE_STATE, workspace_state, "%s|%-s|of %-s|%-s|gone: %-s",
        e->exec_id, size_of_bytes(&arena, e->used), size_of_bytes(&arena, e->limit), NAMES(e->entries, workspace_entry, path),
        STRINGS(e->gone))
    ROW(PROGRAM_STARTED, program_started, "%s|%s|in %s", e->program, e->cmd, e->cwd)
    ROW(PROGRAM_OUTPUT, program_output, "%s|%s", e->program, e->text)
    ROW(PROGRAM_INPUT, program_input, "%s|by %s|%s", e->program, e->by, e->text)
    ROW(PROGRAM_ENDED, program_ended, "%s|exit %jd|%s", e->program, e->exit_code, e->why)
    ROW(NETWORK_CONNECTED, network_connected, "%-s|%s|port %jd|%-s",
        CALL(e->call), e->host, e->port, size_of_bytes(&arena, e->bytes))
    ROW(LATE_SUPPRESSED, late_suppressed, "%-s|after %-s", CALL(e->call), duration(&arena, e->elapsed_ms))
    ROW(REFLECTION, reflection, "step %jd|%s", e->step, e->text)
    ROW(BUDGET_CHARGED, budget_charged, "%-s", budget_named(&arena, e->used))
    ROW(BUDGET_WARNED, budget_warned, "%s|%g|of %g", e->key, e->used, e->limit)
    ROW(HELD, held, "%-s", gate_named(&arena, session, event->turn, e->gate, e->call))
    ROW(RELEASED, released, "%-s|by %s", gate_named(&arena, NULL, event->turn, e->gate, NULL), e->by)
    ROW(EDITED, edited, "%s|%-s", e->what, CALL(e->call))
    ROW(TURN_FINALIZED, turn_finalized, "citations: %-s", NAMES(e->citations, citation, ref))
    ROW(TURN_FINISHED, turn_finished, "%s|%-s|%-s|%-s|%s",
        e->status ? words_turn_status(e->status) : NULL, counted(&arena, e->steps, "step", "steps"),
        counted(&arena, e->tool_calls, "call", "calls"), duration(&arena, e->elapsed_ms), e->text)
    ROW(SESSION_ENDED, session_ended, "%s", e->reason)
    ROW(SESSION_RESUMED, session_resumed, "%s", e->created)
    ROW(SESSION_NAMED, session_named, "%s", e->name)
    case EVENT_OTHER:
        if (event->raw)
            add_flat(out, event->raw, event->raw_len, TEXT_CHARS, false);
        break;
    case EVENT_WRITES_CLOSED:
    case EVENT_TYPE_COUNT:
        break;
    }
    /* clang-format on */
#undef ROW
#undef CALL
}

/* ---- sentences ---- */

/* Adds a name inside a sentence of ours. A line break in it must not look like one of ours. */
static void add_name(struct strbuf *out, const char *name, const char *otherwise)
{
    name = name ? name : otherwise;
    utf8_sanitize(out, name, strlen(name), 0);
}

static void add_dot(struct strbuf *out)
{
    strbuf_addf(out, " %s ", text_dot());
}

/* "3.2 s · 1,204 tokens in, 312 out · $0.004" */
static void add_usage(struct strbuf *out, int64_t ms, const struct event_usage *usage, double cost_usd)
{
    text_ms(out, ms);
    if (usage && (usage->input || usage->output)) {
        add_dot(out);
        text_plural(out, usage->input, "token in, ", "tokens in, ");
        text_count(out, usage->output);
        strbuf_addstr(out, " out");
    }
    if (!isnan(cost_usd)) {
        add_dot(out);
        text_money(out, cost_usd);
    }
}

static void session_started(struct strbuf *out, const struct event_session_started *e)
{
    /* No program made a file that a person wrote, so call it by its name, if it has one. */
    strbuf_addstr(out, e->app ? "" : e->session ? "recording " : "recording");
    add_name(out, e->app, e->session ? e->session : "");
    if (e->model && e->model->provider) {
        add_dot(out);
        add_name(out, e->model->provider, "");
        strbuf_addstr(out, e->model->name && *e->model->name ? " " : "");
        add_name(out, e->model->name, "");
    }
    if (e->workspace) {
        add_dot(out);
        add_name(out, e->workspace, "");
    }
}

static void context_loaded(struct strbuf *out, const struct event_context_loaded *e)
{
    if (e->memory.count)
        text_plural(out, (int64_t)e->memory.count, "memory", "memories");
    if (e->pack.count) {
        strbuf_addstr(out, e->memory.count ? ", " : "");
        text_plural(out, (int64_t)e->pack.count, "excerpt", "excerpts");
    }
    for (size_t i = 0; i < e->pack.count; i++) {
        strbuf_addstr(out, i ? ", " : ": ");
        add_name(out, e->pack.items[i].path, "?");
    }
}

static void model_responded(struct strbuf *out, const struct event_model_responded *e)
{
    /* Hand-written recordings may lack times. */
    bool measured = e->latency_ms || (e->usage && (e->usage->input || e->usage->output)) || !isnan(e->cost_usd);
    if (measured)
        add_usage(out, e->latency_ms, e->usage, e->cost_usd);
    if (!e->stop || !*e->stop || e->tool_calls.count || strcmp(e->stop, "end_turn") == 0)
        return;
    if (measured)
        add_dot(out);
    strbuf_addf(out, "stopped by %s", e->stop);
}

static void model_failed(struct strbuf *out, const struct event_model_failed *e)
{
    strbuf_addf(out, "error: %s", e->error ? e->error : "no reason given");
    strbuf_addstr(out, e->retry_in_ms == EVENT_NULL_INT ? "; gave up" : "; retry in ");
    if (e->retry_in_ms != EVENT_NULL_INT)
        text_ms(out, e->retry_in_ms);
}

/* "approved in part by key, 1 of 2 hunks after 3.2 s" */
static void write_decided(struct strbuf *out, enum words_form form, const struct event_write_decided *e)
{
    bool partial = e->decision && strcmp(e->decision, "partial") == 0;
    int64_t kept = 0, of = 0;
    add_name(out, partial ? "approved in part" : e->decision, "?");
    strbuf_addstr(out, " by ");
    add_name(out, e->by, "?");
    for (size_t i = 0; i < e->hunks.count; i++) {
        kept += (int64_t)e->hunks.items[i].keep.count;
        of += e->hunks.items[i].of;
    }
    if (partial) {
        strbuf_addf(out, ", %lld of ", (long long)kept);
        text_plural(out, of, "hunk", "hunks");
    }
    if (e->waited_ms > 0) {
        strbuf_addstr(out, " after ");
        text_ms(out, e->waited_ms);
    }
    if (form == WORDS_PLAIN && e->reason && *e->reason)
        strbuf_addf(out, ": %s", e->reason);
}

void words_counts(struct strbuf *out, int64_t added, int64_t removed)
{
    strbuf_addstr(out, " +");
    text_count(out, added);
    strbuf_addstr(out, " -");
    text_count(out, removed);
}

static void write_applied(struct strbuf *out, enum words_form form, const struct event_write_applied *e)
{
    if (!e->files.count)
        strbuf_addstr(out, "the tool wrote without showing a diff");
    for (size_t i = 0; i < e->files.count; i++) {
        const struct event_applied_file *file = &e->files.items[i];
        strbuf_addstr(out, i ? ", " : "wrote ");
        add_name(out, file->path, "?");
        if (form == WORDS_HEAD)
            strbuf_addf(out, " +%lld −%lld", (long long)file->added, (long long)file->removed);
        else
            words_counts(out, file->added, file->removed);
    }
}

static void restored(struct strbuf *out, const char *checkpoint, const struct event_strs *paths)
{
    if (!paths->count)
        add_name(out, checkpoint, "?");
    for (size_t i = 0; i < paths->count; i++) {
        strbuf_addstr(out, i ? ", " : "");
        add_name(out, paths->items[i], "?");
    }
}

static void write_undone(struct strbuf *out, const struct event_write_undone *e)
{
    restored(out, e->checkpoint, &e->paths);
}

static void write_redone(struct strbuf *out, const struct event_write_redone *e)
{
    restored(out, e->checkpoint, &e->paths);
}

static void budget_warned(struct strbuf *out, const struct event_budget_warned *e)
{
    const char *key = e->key ? e->key : "?";
    size_t at = out->len;
    add_name(out, strcmp(key, "wall_ms") == 0 ? "time" : strcmp(key, "cost_usd") == 0 ? "cost" : key, "");
    for (; at < out->len; at++)
        if (out->buf[at] == '_')
            out->buf[at] = ' ';
    /* A recording may claim any number; describe only plausible ones. */
    if (!(e->limit > 0 && fabs(e->used) < 1e15 && e->limit < 1e15)) {
        strbuf_addstr(out, ": near its limit");
        return;
    }
    bool measured = strcmp(key, "wall_ms") == 0 || strcmp(key, "cost_usd") == 0; /* else the key is the unit */
    strbuf_addstr(out, ": ");
    words_amount(out, measured ? key : "", e->used);
    strbuf_addstr(out, " of ");
    words_amount(out, measured ? key : "", e->limit);
    strbuf_addf(out, " used (%.0f %%)", e->used / e->limit * 100);
}

static void context_compacted(struct strbuf *out, const struct event_context_compacted *e)
{
    strbuf_addstr(out, "context compacted, ");
    text_count(out, e->before);
    strbuf_addstr(out, " to ");
    text_count(out, e->after);
    strbuf_addf(out, " tokens: %s", e->how ? e->how : "?");
}

/* Only failures: the call reports a success. */
static void workspace_op(struct strbuf *out, const struct event_workspace_op *e)
{
    if (!e->error || !*e->error)
        return;
    add_name(out, e->op, "?");
    strbuf_addch(out, ' ');
    text_ms(out, e->elapsed_ms);
    strbuf_addf(out, ": %s", e->error);
}

static void late_suppressed(struct strbuf *out, const struct session *session, const struct event *event)
{
    const struct event_late_suppressed *e = &event->late_suppressed;
    words_call_number(out, session, e->call ? e->call : "a call", event->turn);
    strbuf_addstr(out, " returned after ");
    text_ms(out, e->elapsed_ms);
    strbuf_addstr(out, "; result discarded");
}

static void reflection(struct strbuf *out, const struct event_reflection *e)
{
    bool said = e->text && e->text[strspn(e->text, " \t\r\n")];
    strbuf_addstr(out, said ? e->text : "(no text)");
}

/* The decision already reports an answered question. */
static void released(struct strbuf *out, const struct event_released *e)
{
    if (e->by && strcmp(e->by, "decision") == 0)
        return;
    words_gate(out, NULL, e->gate, NULL, 0);
    strbuf_addstr(out, ", then ");
    add_name(out, e->by, "?");
}

static void turn_finalized(struct strbuf *out, const struct event_turn_finalized *e)
{
    for (size_t i = 0, shown = 0; i < e->citations.count; i++)
        if (e->citations.items[i].ref) {
            strbuf_addstr(out, shown++ ? ", " : "");
            add_name(out, e->citations.items[i].ref, "");
        }
}

static void edited(struct strbuf *out, const struct session *session, const struct event *event)
{
    const struct event_edited *e = &event->edited;
    const char *after = e->after ? e->after : "gone";
    size_t len = strlen(after), keep = utf8_prefix(after, len, EDITED_CHARS);
    add_name(out, e->what, "?");
    if (e->call) {
        strbuf_addstr(out, " of ");
        words_call_number(out, session, e->call, event->turn);
    }
    strbuf_addstr(out, ", now ");
    add_flat(out, after, keep, keep, false);
    strbuf_addstr(out, keep < len ? text_ellipsis() : "");
}

void words_turn_end(struct strbuf *out, const struct event_turn_finished *e, double cost_usd)
{
    if (e->status && strcmp(e->status, "budget") == 0) {
        strbuf_addstr(out, e->limit ? "stopped at " : "limit reached");
        if (e->limit)
            words_limit_reached(out, e->limit);
        add_dot(out);
    }
    text_plural(out, e->steps, "step", "steps");
    add_dot(out);
    text_plural(out, e->tool_calls, "call", "calls");
    add_dot(out);
    add_usage(out, e->elapsed_ms, e->usage, cost_usd);
    if (e->waited_ms >= 1000) {
        add_dot(out);
        strbuf_addstr(out, "waited ");
        text_ms(out, e->waited_ms);
    }
}

static void turn_finished(struct strbuf *out, const struct event_turn_finished *e)
{
    const char *status = e->status && *e->status ? e->status : "ended";
    bool at_limit = strcmp(status, "budget") == 0;
    strbuf_addstr(out, at_limit && e->limit ? "stopped at "
                       : at_limit           ? "stopped at a limit"
                                            : words_turn_status(status));
    if (at_limit && e->limit)
        words_limit_reached(out, e->limit);
    strbuf_addstr(out, ", ");
    text_plural(out, e->steps, "step", "steps");
    strbuf_addstr(out, ", ");
    text_plural(out, e->tool_calls, "call", "calls");
    strbuf_addstr(out, ", ");
    text_ms(out, e->elapsed_ms);
}

/* Adds the sentence of a type that has one; false if its row says as much. */
static bool add_sentence(struct strbuf *out, enum words_form form, const struct session *session,
                         const struct event *event)
{
#define SAY(ID, member)              \
    case EVENT_##ID:                 \
        member(out, &event->member); \
        return true;
    /* clang-format off */
    switch (event->type) {
    SAY(SESSION_STARTED, session_started)
    SAY(CONTEXT_LOADED, context_loaded)
    SAY(MODEL_RESPONDED, model_responded)
    SAY(MODEL_FAILED, model_failed)
    SAY(WRITE_UNDONE, write_undone)
    SAY(WRITE_REDONE, write_redone)
    SAY(WORKSPACE_OP, workspace_op)
    SAY(REFLECTION, reflection)
    SAY(BUDGET_WARNED, budget_warned)
    SAY(RELEASED, released)
    SAY(TURN_FINALIZED, turn_finalized)
        /* clang-format on */
#undef SAY
    case EVENT_LATE_SUPPRESSED:
        late_suppressed(out, session, event);
        return true;
    case EVENT_EDITED:
        edited(out, session, event);
        return true;
    case EVENT_CONTEXT_COMPACTED:
        if (form == WORDS_HEAD)
            context_compacted(out, &event->context_compacted);
        return form == WORDS_HEAD;
    case EVENT_WRITE_DECIDED:
        write_decided(out, form, &event->write_decided);
        return true;
    case EVENT_WRITE_APPLIED:
        write_applied(out, form, &event->write_applied);
        return true;
    case EVENT_TURN_FINISHED:
        if (form == WORDS_HEAD)
            turn_finished(out, &event->turn_finished);
        else
            words_turn_end(out, &event->turn_finished, NAN);
        return true;
    default:
        return false;
    }
}

void event_words(struct strbuf *out, enum words_form form, const struct session *session, const struct event *event)
{
    if (form == WORDS_ROW || !add_sentence(out, form, session, event))
        event_row(out, session, event);
}
