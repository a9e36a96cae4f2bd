/* Builds the documents of the inspector: an event, a call or a script in full.
 *
 * A call is described by its events: requested, started, proposed, decided, applied, finished. The session's row of the
 * call has the seq of each event, and their lines are read from the journal. */

#include "inspect_docs.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/event.h"
#include "event/words.h"
#include "panes/call_output.h"
#include "screen/program_lines.h"
#include "screen/text.h"
#include "tools/artifact.h"
#include "turn/divergence.h"
#include "workspace/versions.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRIEF_MAX 60 /* bytes of a text that is shown without a heading */
#define KEPT_NAME "artifact"
#define TEXT_MOST ((size_t)256 << 10) /* bytes of one text, because a document is built in one loop step */

static const struct session_call *call_of(const struct view *view, struct selection what)
{
    bool about = what.kind == SELECT_CALL || what.kind == SELECT_HUNK;
    return about && what.call < view->session->call_count ? &view->session->calls[what.call] : NULL;
}

static const struct session_question *ask_of(const struct view *view, const struct session_call *call)
{
    return call->ask < view->session->ask_count ? &view->session->asks[call->ask] : NULL;
}

/* ---- divergences ---- */

static void put_side(struct document *out, enum look look, const char *label, const char *text)
{
    CLEANUP(free) char *line = xasprintf("%s%s", label, text);
    document_text(out, look, line, strlen(line), 2, true);
}

/* Adds where the run differs from the recording, and the recorded value. */
static void put_divergences(struct document *out, const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    const struct divergence *divergence;
    size_t index = 0, count = 0;
    if (!view->divergences)
        return;
    while ((divergence = call ? divergences_of_call(view->divergences, view->session->turns[call->turn].number,
                                                    session_name(view->session, call->id), &index)
                              : divergences_of_event(view->divergences, what.seq, &index))) {
        if (!count++)
            document_head(out, "diverges from the recording");
        document_begin(out, 0);
        document_putf(out, LOOK_WARN, "%s", divergence->type);
        if (divergence->unrecorded) {
            document_putf(out, LOOK_TEXT, " was not recorded: it came after event %lld", (long long)divergence->seq);
        } else {
            document_putf(out, LOOK_TEXT, " %s, recorded in event %lld", divergence->field, (long long)divergence->seq);
            put_side(out, LOOK_DIFF_REMOVE, "- recorded ", divergence->recorded);
        }
        put_side(out, LOOK_DIFF_ADD, "+ got      ", divergence->got);
    }
}

/* ---- events ---- */

/* Adds a field. A value that fits on a line follows its name; a longer one gets a heading. A call adds only one of the
 * two kinds, because short fields come first. */
static void put_field(struct document *out, const struct json *field, bool brief)
{
    bool container = field->type == JSON_ARRAY || field->type == JSON_OBJECT;
    bool text = field->type == JSON_STRING;
    bool is_brief = !container &&
                    !(text && (field->len > BRIEF_MAX || strchr(field->text, '\n') || strcmp(field->key, "text") == 0));
    if (field->type == JSON_NULL || is_brief != brief || (text && !brief && !field->len))
        return;
    if (!brief) {
        document_head(out, field->key);
        document_plain(out, field, 0);
        return;
    }
    document_begin(out, 0);
    document_putf(out, LOOK_JSON_KEY, "%s: ", field->key);
    document_puts(out, LOOK_TEXT, field->type == JSON_TRUE ? "yes" : field->type == JSON_FALSE ? "no" : field->text);
}

/* What was decided about the writes of the turn that this event ended. */
static void put_decisions(struct document *out, const struct view *view, int64_t finished_seq)
{
    const struct session *session = view->session;
    size_t count = 0;
    for (uint32_t i = 0; i < session->ask_count; i++) {
        const struct session_question *ask = &session->asks[i];
        const struct session_call *call = ask->call < session->call_count ? &session->calls[ask->call] : NULL;
        if (!call || !ask->decision || session->turns[call->turn].finished_seq != finished_seq)
            continue;
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        strbuf_addf(&words, "#%u %s %s: ", ask->call + 1, session_name(session, call->tool), ask->paths);
        words_decision(&words, session_name(session, ask->decision), ask->by, ask->reason);
        if (!count++)
            document_head(out, "decisions");
        document_text(out, LOOK_TEXT, words.buf, words.len, 0, true);
    }
}

/* The answer to this request, as far as it arrived. */
static void put_interrupted(struct document *out, const struct view *view, int64_t requested_seq)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT, thinking = STRBUF_INIT;
    const struct session_step *step = view_step_requested(view, requested_seq);
    if (!step || !view_interrupted_answer(view, step, &text, &thinking))
        return;
    document_head(out, "answer, as far as it arrived");
    document_text(out, LOOK_THINKING, thinking.buf, thinking.len, 0, true);
    document_text(out, LOOK_TEXT, text.buf, text.len, 0, true);
}

static void event_document(struct document *out, const struct view *view, struct selection what, bool plain)
{
    const struct event *event = view_event(view, what.seq);
    const struct json *line = event ? event_raw_json(event, NULL, view_arena(view)) : NULL;
    if (event) {
        document_begin(out, 0);
        document_puts(out, LOOK_STRONG, event->type_name);
        document_putf(out, LOOK_DIM, "  %s",
                      event->type == EVENT_OTHER ? "a type this version does not know" : event_type_doc(event->type));
        document_begin(out, 0);
        document_putf(out, LOOK_DIM, "seq %lld, at %.6f s, turn %lld", (long long)event->seq, (double)event->t / 1e6,
                      (long long)event->turn);
        put_divergences(out, view, what);
    }
    if (!line) {
        document_begin(out, 0);
        document_puts(out, LOOK_ERROR, "Cannot parse this line. The raw tab shows it.");
    } else if (!plain) {
        document_begin(out, 0);
        document_json(out, line, 0);
    } else if (event->type == EVENT_OTHER) {
        document_head(out, "fields");
        document_plain(out, line, 0);
    }
    for (int brief = 1; line && plain && event->type != EVENT_OTHER && brief >= 0; brief--)
        json_each (field, line)
            if (strcmp(field->key, "seq") != 0 && strcmp(field->key, "t") != 0 && strcmp(field->key, "turn") != 0 &&
                strcmp(field->key, "type") != 0) /* these are in the head */
                put_field(out, field, brief);
    if (event && event->type == EVENT_TURN_FINISHED)
        put_decisions(out, view, event->seq);
    if (event && event->type == EVENT_MODEL_REQUESTED)
        put_interrupted(out, view, event->seq);
}

static void add_raw_line(struct document *out, const struct view *view, int64_t seq, bool named)
{
    size_t row = view_find_row(view, seq), len;
    if (row == SIZE_MAX && view->lines && seq >= 1 && (uint64_t)seq <= journal_count(view->lines))
        row = (size_t)seq - 1; /* show the line even if it cannot be decoded */
    if (row == SIZE_MAX)
        return;
    const char *line = journal_line(view->lines, row, &len);
    if (named) {
        CLEANUP(free) char *head = xasprintf("line %ld", journal_line_number(view->lines, row));
        document_head(out, head);
    }
    document_raw(out, line, len);
}

/* ---- calls ---- */

static const struct json *arguments_of(const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    return call ? view_call_arguments(view, call) : NULL;
}

static void put_call_head(struct document *out, const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    const char *tool = session_name(view->session, call->tool), *id = session_name(view->session, call->id);
    const char *effect = words_call_effect(view_call_effect(view, call), tool);
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    char state[WORDS_STATE_MAX];
    document_begin(out, 0);
    document_puts(out, LOOK_STRONG, tool);
    document_putf(out, LOOK_DIM, "  %s, %s%s%s%s", id, call->program_end ? "done, " : "", words_call_state(call, state),
                  *effect ? ", " : "", effect);
    document_begin(out, 0);
    words_call_times(&words, call);
    document_puts(out, LOOK_DIM, words.buf);
}

static void put_decision(struct document *out, const struct view *view, const struct session_call *call)
{
    const struct session_question *ask = ask_of(view, call);
    if (!ask)
        return;
    document_head(out, "question");
    document_begin(out, 0);
    const struct event *event = view_event_of(view, ask->decided_seq, EVENT_WRITE_DECIDED);
    if (!event) {
        document_puts(out, LOOK_WARN, "waiting for approval");
        return;
    }
    const char *reason = event->write_decided.reason;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    event_words(&words, WORDS_HEAD, view->session, event);
    document_put(out, LOOK_TEXT, words.buf, words.len);
    if (reason && *reason)
        document_text(out, LOOK_TEXT, reason, strlen(reason), 0, true);
    if (ask->undone_seq) {
        document_begin(out, 0);
        document_puts(out, LOOK_WARN, "undone since");
    }
}

/* The next member that names an artifact of the output, starting at this member: "artifact", "stdout_artifact". */
static const struct json *next_kept(const struct json *member)
{
    static const char scheme[] = ARTIFACT_SCHEME "art_";
    for (; member; member = member->next) {
        size_t len = member->key ? strlen(member->key) : 0;
        if (len >= strlen(KEPT_NAME) && strcmp(member->key + len - strlen(KEPT_NAME), KEPT_NAME) == 0 &&
            strncmp(json_str(member, ""), scheme, strlen(scheme)) == 0)
            break;
    }
    return member;
}

static const struct json *first_kept(const struct json *output)
{
    return output && output->type == JSON_OBJECT ? next_kept(output->child) : NULL;
}

static void put_outcome(struct document *out, const struct view *view, const struct session_call *call, bool plain)
{
    const struct event *event = view_event_of(view, call->finished_seq, EVENT_TOOL_FINISHED);
    if (!event)
        return;
    const struct event_tool_finished *finished = &event->tool_finished;
    CLEANUP(free) char *head = xasprintf("outcome: %s", finished->outcome ? finished->outcome : "?");
    const char *part = finished->result    ? "result"
                       : finished->failure ? "failure"
                       : finished->denied  ? "denied"
                       : finished->timeout ? "timeout"
                                           : "artifact";
    document_head(out, head);
    const struct json *value = event_raw_json(event, part, view_arena(view));
    const struct json *output = json_get(value, "output");
    if (value && plain)
        document_plain(out, output ? output : value, 0);
    else if (value)
        document_json(out, value, 0);
    if (!plain && first_kept(output)) {
        document_begin(out, 0);
        document_puts(out, LOOK_DIM, "(the text tab shows all of the output)");
    }
}

struct printing {
    struct document *out;
    struct program_lines text; /* output that is not in the document yet */
    bool any;
};

/* Adds the output of the streams as a terminal would show it. */
static void put_streams(struct printing *printing)
{
    CLEANUP(strbuf) struct strbuf lines = STRBUF_INIT;
    size_t count = program_lines_count(&printing->text);
    for (size_t i = 0; i < count; i++) {
        const struct program_line *line = program_lines_line(&printing->text, i);
        strbuf_add(&lines, line->text, line->len);
        strbuf_addch(&lines, '\n');
    }
    if (count)
        document_text(printing->out, LOOK_TEXT, lines.buf, lines.len, 0, false);
    program_lines_reset(&printing->text);
}

static void put_output(const struct call_output *told, int64_t seq, void *data)
{
    struct printing *printing = data;
    (void)seq;
    if (!printing->any)
        document_head(printing->out, "printed");
    printing->any = true;
    if (told->piece) {
        program_lines_print(&printing->text, told->text, told->len);
        return;
    }
    put_streams(printing);
    if (told->kind == CALL_OUTPUT_PRINTED || told->kind == CALL_OUTPUT_ERROR) {
        document_text(printing->out, LOOK_TEXT, told->text, told->len, 0, false);
    } else if (told->data) {
        document_begin(printing->out, 0);
        document_putf(printing->out, LOOK_DIM, "%s:", told->label);
        document_plain(printing->out, told->data, 2);
    }
}

static void put_printed(struct document *out, const struct view *view, struct selection what)
{
    struct printing printing = {.out = out};
    program_lines_init(&printing.text);
    bool earlier = call_output_each(view, what.call, put_output, &printing) || printing.text.dropped;
    put_streams(&printing);
    program_lines_release(&printing.text);
    if (earlier) {
        document_begin(out, 0);
        document_puts(out, LOOK_DIM, "(newest output; filter the events by this call for all)");
    }
}

static void call_document(struct document *out, const struct view *view, struct selection what, bool plain)
{
    const struct session_call *call = call_of(view, what);
    const struct json *arguments = arguments_of(view, what);
    put_call_head(out, view, what);
    put_divergences(out, view, what);
    if (arguments) {
        document_head(out, "arguments");
        (plain ? document_plain : document_json)(out, arguments, 0);
    }
    put_decision(out, view, call);
    put_printed(out, view, what);
    put_outcome(out, view, call, plain);
}

/* ---- scripts: the source with line numbers and a mark at the failing line; then all events of the script, in order
 * ---- */

struct telling {
    struct document *out;
    enum call_output_kind kind; /* of the last output */
    bool any;
    char *error, *traceback;
};

static void put_source(struct document *out, const struct json *source, size_t failed, const char *error)
{
    size_t at = 0, lines = source->len > 0;
    for (size_t i = 0; i + 1 < source->len; i++)
        lines += source->text[i] == '\n';
    int width = snprintf(NULL, 0, "%zu", lines);
    for (size_t number = 1; number <= lines; number++) {
        const char *text = source->text + at, *newline = memchr(text, '\n', source->len - at);
        size_t len = newline ? (size_t)(newline - text) : source->len - at;
        bool here = number == failed;
        document_begin(out, 0);
        document_putf(out, here ? LOOK_SCRIPT_ERROR : LOOK_SCRIPT_GUTTER, "%s%*zu  ", here ? "> " : "  ", width,
                      number);
        document_put(out, here ? LOOK_SCRIPT_ERROR : LOOK_SCRIPT, text, len);
        at += len + 1;
        if (here && *error) {
            document_begin(out, width + 4);
            document_putf(out, LOOK_SCRIPT_ERROR, "^ %.*s", (int)strcspn(error, "\n"), error);
        }
    }
}

static void put_script_lines(struct document *out, const struct call_output *told)
{
    bool plain = strcmp(told->label, "stdout") == 0;
    for (struct call_output_lines lines = call_output_lines(told); call_output_lines_next(&lines);) {
        document_begin(out, 0);
        if (!plain)
            document_putf(out, LOOK_DIM, "%s: ", told->label);
        document_put(out, strcmp(told->label, "error") == 0 ? LOOK_ERROR : LOOK_TEXT, lines.line, lines.len);
    }
}

static void put_value(struct document *out, const struct call_output *told)
{
    if (told->data && (told->data->type == JSON_OBJECT || told->data->type == JSON_ARRAY))
        document_json(out, told->data, 0);
    else if (told->data)
        document_plain(out, told->data, 0);
}

static void put_script_output(const struct call_output *told, int64_t seq, void *data)
{
    struct telling *telling = data;
    (void)seq;
    if (told->kind == CALL_OUTPUT_PRINTED) {
        if (!telling->any || telling->kind != CALL_OUTPUT_PRINTED)
            document_head(telling->out, "printed");
        put_script_lines(telling->out, told);
    } else if (told->kind == CALL_OUTPUT_INTERMEDIATE) {
        CLEANUP(free) char *head = xasprintf("intermediate: %.200s", told->label);
        document_head(telling->out, head);
        put_value(telling->out, told);
    } else if (told->kind == CALL_OUTPUT_RESULT) {
        document_head(telling->out, "result");
        put_value(telling->out, told);
    } else {
        document_head(telling->out, "error");
        document_text(telling->out, LOOK_SCRIPT_ERROR, told->text, told->len, 0, true);
        if (*told->traceback) {
            document_head(telling->out, "traceback");
            document_text(telling->out, LOOK_TEXT, told->traceback, strlen(told->traceback), 0, false);
        }
    }
    telling->kind = told->kind;
    telling->any = true;
}

static void keep_error(const struct call_output *told, int64_t seq, void *data)
{
    struct telling *telling = data;
    (void)seq;
    if (told->kind != CALL_OUTPUT_ERROR)
        return;
    free(telling->error);
    free(telling->traceback);
    telling->error = xmemdup0(told->text, told->len);
    telling->traceback = xstrdup(told->traceback);
}

bool inspect_has_script(const struct view *view, struct selection what)
{
    return what.kind == SELECT_CALL && script_of(arguments_of(view, what));
}

void inspect_script(struct document *out, const struct view *view, struct selection what)
{
    const struct json *arguments = arguments_of(view, what), *source = script_of(arguments);
    struct telling telling = {.out = out};
    if (!source)
        return;
    put_call_head(out, view, what);
    call_output_each(view, what.call, keep_error, &telling);
    const char *error = telling.error ? telling.error : "";
    size_t failed = words_script_line(telling.traceback ? telling.traceback : "");
    if (!failed)
        failed = words_script_line(error);
    json_each (field, arguments)
        if (field != source) {
            document_begin(out, 0);
            document_putf(out, LOOK_JSON_KEY, "%s: ", field->key);
            document_put(out, LOOK_JSON_NUMBER, field->src, field->src_len);
        }
    document_head(out, failed ? "script (> is where it failed)" : "script");
    put_source(out, source, failed, error);
    if (call_output_each(view, what.call, put_script_output, &telling)) {
        document_head(out, "earlier output is not shown: filter the events by this call");
    }
    if (!telling.any)
        put_outcome(out, view, call_of(view, what), true);
    free(telling.error);
    free(telling.traceback);
}

/* ---- the documents ---- */

void inspect_words(struct document *out, const struct view *view, struct selection what, bool plain)
{
    out->most = TEXT_MOST;
    (call_of(view, what) ? call_document : event_document)(out, view, what, plain);
}

void inspect_raw(struct document *out, const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    out->most = TEXT_MOST;
    if (!call) {
        add_raw_line(out, view, what.seq, false);
        return;
    }
    const struct session_question *ask = ask_of(view, call);
    const uint32_t seqs[] = {
        call->responded_seq,           call->started_seq,          call->proposed_seq, ask ? ask->decided_seq : 0,
        ask ? ask->checkpoint_seq : 0, ask ? ask->applied_seq : 0, call->finished_seq, ask ? ask->restored_seq : 0};
    for (size_t i = 0; i < COUNT_OF(seqs); i++)
        if (seqs[i])
            add_raw_line(out, view, seqs[i], true);
}

/* The call whose write is shown: the selected one, or that of the selected event. */
static const struct session_call *writing_call(const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    const struct event *event = call ? NULL : view_event(view, what.seq);
    if (!event)
        return call;
    uint32_t row = view_event_call(view, event);
    return row == SESSION_NONE ? NULL : &view->session->calls[row];
}

bool inspect_diff(struct diffview *out, const struct view *view, struct selection what)
{
    const struct session_call *call = writing_call(view, what);
    if (!call || !call->proposed_seq)
        return false;
    const struct session_question *ask = ask_of(view, call);
    uint32_t seq = ask && ask->proposed_seq ? ask->proposed_seq : call->proposed_seq;
    const struct event *proposed = view_event_of(view, seq, EVENT_WRITE_PROPOSED);
    const struct event *decided = view_event_of(view, ask ? ask->decided_seq : 0, EVENT_WRITE_DECIDED);
    if (!proposed || !proposed->write_proposed.files.items)
        return false;
    diffview_load_recorded(out, &proposed->write_proposed.files);
    if (decided && decided->write_decided.decision)
        diffview_decide(out, decided->write_decided.decision, &decided->write_decided.hunks);
    diffview_arrange(out, true, true);
    return true;
}

/* Accept only names that Keyturn gives to artifacts: a recording can name any file. */
static bool is_artifact_name(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, "art_", 4) == 0 && strlen(name) > 8 && strcmp(name + strlen(name) - 4, ".txt") == 0;
}

size_t inspect_artifacts(const struct view *view, struct selection what, struct inspect_artifact out[])
{
    const struct session_call *call = call_of(view, what);
    const struct event *event = view_event_of(view, call ? call->finished_seq : what.seq, EVENT_TOOL_FINISHED);
    const struct event_artifact_info *artifact = event ? event->tool_finished.artifact : NULL;
    const struct event_result_info *result = event ? event->tool_finished.result : NULL;
    size_t count = 0;
    if (artifact && artifact->path && is_artifact_name(artifact->path))
        out[count++] = (struct inspect_artifact){.what = "artifact", .path = xstrdup(artifact->path)};
    for (const struct json *kept = first_kept(result ? view_json(view, result->output) : NULL);
         kept && count < INSPECT_ARTIFACTS_MAX; kept = next_kept(kept->next)) {
        size_t len = strlen(kept->key) - strlen(KEPT_NAME); /* "stdout_artifact" without its suffix */
        snprintf(out[count].what, sizeof(out->what), "%.*s", len ? (int)len - 1 : INT_MAX, len ? kept->key : "output");
        out[count++].path = artifact_file(view->artifacts, kept->text + strlen(ARTIFACT_SCHEME));
    }
    return count;
}

void inspect_title(struct strbuf *out, const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    const struct event *event = call ? NULL : view_event(view, what.seq);
    if (call)
        strbuf_addf(out, "#%u %s", what.call + 1, session_name(view->session, call->tool));
    else if (event)
        strbuf_addf(out, "event %lld %s", (long long)what.seq, event->type_name);
    else
        strbuf_addf(out, "event %lld", (long long)what.seq);
}

uint64_t inspect_state(const struct view *view, struct selection what)
{
    const struct session_call *call = call_of(view, what);
    uint32_t diverged = view->divergences ? (uint32_t)divergences_count(view->divergences) : 0;
    if (!call)
        return 1 + diverged;
    const struct session_question *ask = ask_of(view, call);
    const uint32_t parts[] = {call->started_seq,
                              call->finished_seq,
                              call->proposed_seq,
                              call->outputs,
                              call->state,
                              call->late,
                              ask ? ask->decided_seq : 0,
                              ask ? ask->applied_seq : 0,
                              ask ? ask->restored_seq : 0,
                              diverged};
    uint64_t state = 1469598103934665603u; /* FNV-1a */
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        state = (state ^ parts[i]) * 1099511628211u;
    return state;
}

/* ---- a script among the arguments ---- */

const struct json *script_of(const struct json *arguments)
{
    const struct json *script = json_get(arguments, "script");
    return script && script->type == JSON_STRING ? script : NULL;
}

bool script_within(const char *arguments)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    return script_of(event_leaf(&arena, arguments));
}

bool script_replace(struct strbuf *out, const char *arguments, const char *script)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *value = event_leaf(&arena, arguments);
    if (!script_of(value))
        return false;
    struct json_writer w = json_begin(out);
    json_open(&w, NULL, '{');
    json_each (field, value) {
        if (strcmp(field->key, "script") == 0)
            json_add_str(&w, "script", script);
        else
            json_add_value(&w, field->key, field);
    }
    json_close(&w, '}');
    return true;
}
