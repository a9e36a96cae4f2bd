/* Checks expectations of a case. Each thing to check is a JSON value, called a view; the case compares fields of it.
 *
 * A field that a view can never have is an error in the case, not a difference: a typing mistake must not make a case
 * that cannot fail. Only texts of a tool or a model may have any field. */

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "case.h"
#include "support/event_json.h"
#include "support/turn_check.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct view {
    const char *name;                  /* for messages: "event write.decided" */
    const struct json *root;           /* NULL if the thing does not exist */
    const char *why;                   /* why it is missing */
    const struct event_layout *layout; /* layout of an event; NULL: the present members are the only possible ones */
    bool free;                         /* any field is allowed */
    size_t used;                       /* words that named it */
};

char *case_path(struct case_run *run, const char *path)
{
    CLEANUP(free) char *name = xasprintf("work/%s", path);
    return scratch_path(&run->rig.scratch, name);
}

/* ---- views ---- */

static const struct json *parse(struct case_run *run, const char *text, size_t len)
{
    struct err err = ERR_INIT;
    const struct json *value = json_parse(&run->arena, arena_memdup0(&run->arena, text, len), len, &err);
    if (!value)
        case_fail(run, "no JSON: %s: %.*s", err.text, (int)len, text);
    return value;
}

enum event_type case_event_type(struct case_run *run, const char *name)
{
    enum event_type type = event_type_from_name(name, strlen(name));
    if (type == EVENT_OTHER)
        case_fail(run, "there is no event %s", name);
    return type;
}

/* "write.decided", "tool.finished:c1", "model.failed#2", "turn.finished#last" */
struct event_name {
    enum event_type type;
    const char *of; /* call or gate; NULL: of any */
    size_t number;  /* from 1; 0: the only one; SIZE_MAX: the last */
};

static const char *event_subject(struct case_run *run, const struct event *event)
{
    const struct json *line = parse(run, event->raw, event->raw_len);
    const char *call = json_str(json_get(line, "call"), NULL);
    return event->type == EVENT_HELD || event->type == EVENT_RELEASED ? json_str(json_get(line, "gate"), "") : call;
}

static struct event_name parse_event_name(struct case_run *run, const char *word)
{
    struct event_name name = {0};
    char *type = arena_strdup(&run->arena, word);
    char *number = strchr(type, '#');
    if (number) {
        *number++ = '\0';
        char *end;
        name.number = strcmp(number, "last") == 0 ? SIZE_MAX : strtoul(number, &end, 10);
        if (name.number != SIZE_MAX && (*end || !name.number))
            case_fail(run, "an event's number counts from 1, or is last: %s", word);
    }
    char *of = strchr(type, ':');
    if (of)
        *of++ = '\0';
    name.of = of;
    name.type = case_event_type(run, type);
    return name;
}

static bool event_has_name(struct case_run *run, const struct event *event, const struct event_name *name)
{
    if (event->type != name->type)
        return false;
    const char *of = name->of ? event_subject(run, event) : NULL;
    return !name->of || (of && strcmp(of, name->of) == 0);
}

static size_t count_events(struct case_run *run, const struct event_name *name, const struct event **found)
{
    size_t count = 0;
    for (size_t i = 0; i < run->rig.event_count; i++)
        if (event_has_name(run, &run->rig.events[i], name)) {
            count++;
            if (name->number == SIZE_MAX || count == (name->number ? name->number : 1))
                *found = &run->rig.events[i];
        }
    return count;
}

static struct view view_event(struct case_run *run, const char *word)
{
    static struct event_layout layout;
    struct event_name name = parse_event_name(run, word);
    const struct event *event = NULL;
    size_t count = count_events(run, &name, &event);
    if (!name.number && count > 1)
        case_fail(run, "there are %zu events %s: say which with #1 … #%zu", count, word, count);
    layout = event_layout(name.type);
    return (struct view){.name = arena_printf(&run->arena, "event %s", word),
                         .root = event ? parse(run, event->raw, event->raw_len) : NULL,
                         .why = arena_printf(&run->arena, "there are %zu of them", count),
                         .layout = &layout,
                         .used = 2};
}

static struct view view_message(struct case_run *run, const char *call)
{
    const char *text = turn_check_message(&run->rig, call);
    const struct json *value = text ? json_parse(&run->arena, text, strlen(text), NULL) : NULL;
    if (text && !value) { /* cut to make room, or edited: still a text */
        CLEANUP(strbuf) struct strbuf quoted = STRBUF_INIT;
        json_write_str(&quoted, text, strlen(text), JSON_COMPACT);
        value = parse(run, quoted.buf, quoted.len);
    }
    return (struct view){.name = arena_printf(&run->arena, "message %s", call),
                         .root = value,
                         .why = "the newest request has no message of this call",
                         .free = true,
                         .used = 2};
}

static void add_message(struct case_run *run, struct json_writer *w, const struct message *message)
{
    json_open(w, NULL, '{');
    json_add_str(w, "role", role_name(message->role));
    json_add_str(w, "meaning", message->meaning);
    json_add_str(w, "text", message->text);
    json_add_str(w, "call", message->call_id);
    json_add_bool(w, "failed", message->failed);
    json_add_str(w, "opaque", message->opaque);
    json_open(w, "calls", '[');
    for (size_t i = 0; i < message->call_count; i++) {
        json_open(w, NULL, '{');
        json_add_str(w, "id", message->calls[i].id);
        json_add_str(w, "name", message->calls[i].name);
        json_add_str(w, "arguments", message->calls[i].arguments);
        json_close(w, '}');
    }
    json_close(w, ']');
    json_close(w, '}');
    (void)run;
}

static void add_messages(struct case_run *run, struct json_writer *w, const struct message_list *messages)
{
    CLEANUP(strbuf) struct strbuf meanings = STRBUF_INIT, history = STRBUF_INIT;
    json_open(w, "messages", '[');
    for (size_t i = 0; i < messages->count; i++) {
        const struct message *message = &messages->items[i];
        add_message(run, w, message);
        strbuf_addf(&meanings, "%s%s", i ? ", " : "", message->meaning ? message->meaning : "?");
        if (message->role == ROLE_SYSTEM)
            continue;
        strbuf_addf(&history, "%s%s: %s", history.len ? " | " : "", role_name(message->role), message->text);
        for (size_t k = 0; k < message->call_count; k++)
            strbuf_addf(&history, "<%s>", message->calls[k].id);
    }
    json_close(w, ']');
    json_add_str(w, "meanings", meanings.buf);
    json_add_str(w, "history", history.buf);
    struct event event = {.type = EVENT_TURN_PREPARED,
                          .turn_prepared = {.messages = message_list_to_event(&run->arena, messages)}};
    json_add_str(w, "sent", event_json(&event, "messages"));
}

/* The n-th request, counted from 1 and including reflections; "last": the newest request of a step. */
static struct view view_request(struct case_run *run, const char *word)
{
    const struct fake_provider *model = run->rig.model;
    size_t number = strtoul(word, NULL, 10);
    if (strcmp(word, "last") == 0)
        for (number = model->request_count; number && model->requests[number - 1].reflection;)
            number--;
    struct view view = {.name = arena_printf(&run->arena, "request %s", word),
                        .why = arena_printf(&run->arena, "there are %zu of them", model->request_count),
                        .used = 2};
    if (!number || number > model->request_count)
        return view;
    const struct fake_request *request = &model->requests[number - 1];
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_add_int(&w, "step", request->step);
    json_add_bool(&w, "reflection", request->reflection);
    json_add_int(&w, "thinking_tokens", request->thinking_tokens);
    json_add_int(&w, "timeout_ms", request->timeout_ms);
    json_add_num(&w, "at_ms", (double)request->at_us / 1000);
    json_add_bool(&w, "canceled", request->cancelled);
    json_open(&w, "tools", '[');
    for (size_t i = 0; i < request->tool_count; i++)
        json_add_str(&w, NULL, request->tools[i]);
    json_close(&w, ']');
    add_messages(run, &w, &request->messages);
    json_close(&w, '}');
    view.root = parse(run, text.buf, text.len);
    return view;
}

static struct view view_held(struct case_run *run)
{
    struct held_view held = {0};
    struct view view = {.name = "held", .why = "the turn is not held", .used = 1};
    if (!engine_held(run->rig.engine, &held))
        return view;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_add_str(&w, "why", held.why);
    json_add_str(&w, "gate", gate_name(held.gate));
    json_add_str(&w, "call", held.call);
    json_add_str(&w, "tool", held.tool ? held.tool->spec.name : NULL);
    json_add_str(&w, "arguments", held.arguments);
    json_add_str(&w, "result", held.result);
    json_add_int(&w, "messages", held.messages ? (int64_t)held.messages->count : 0);
    json_close(&w, '}');
    view.root = parse(run, text.buf, text.len);
    return view;
}

static struct view view_question(struct case_run *run)
{
    const struct question *question = engine_question(run->rig.engine);
    struct view view = {.name = "question", .why = "no question is open", .used = 1};
    if (!question)
        return view;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_add_str(&w, "id", question->id);
    json_add_str(&w, "call", question->call_id);
    json_add_str(&w, "tool", question->tool);
    json_add_str(&w, "digest", question->digest);
    json_add_bool(&w, "again", question->again);
    json_add_bool(&w, "moved", question->moved);
    json_add_str(&w, "named", question->named);
    json_add_str(&w, "no_undo", question->no_undo);
    json_open(&w, "files", '[');
    for (size_t i = 0; question->changes && i < question->changes->count; i++) {
        const struct change *change = &question->changes->items[i];
        json_open(&w, NULL, '{');
        json_add_str(&w, "path", change->path);
        json_add_str(&w, "text", change->new.exists ? change->new.bytes : NULL);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_close(&w, '}');
    view.root = parse(run, text.buf, text.len);
    return view;
}

struct case_tool *case_tool_find(struct case_run *run, const char *name)
{
    for (struct case_tool *tool = run->tools; tool; tool = tool->next)
        if (strcmp(tool->name, name) == 0)
            return tool;
    return NULL;
}

static struct view view_tool(struct case_run *run, const char *name)
{
    const struct case_tool *tool = case_tool_find(run, name);
    if (!tool)
        case_fail(run, "there is no fake tool %s", name);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_add_int(&w, "executions", tool->fake.executions);
    json_add_int(&w, "confirmed", tool->fake.confirmed);
    json_add_int(&w, "finished", tool->fake.finished);
    json_add_int(&w, "cancels", tool->fake.cancels);
    json_add_str(&w, "arguments", tool->fake.arguments);
    json_add_bool(&w, "given_changes", tool->fake.approved != NULL);
    json_add_num(&w, "deadline_s", tool->fake.token_s);
    json_close(&w, '}');
    return (struct view){
        .name = arena_printf(&run->arena, "tool %s", name), .root = parse(run, text.buf, text.len), .used = 2};
}

static struct view view_engine(struct case_run *run)
{
    const struct engine *engine = run->rig.engine;
    const struct session *session = engine_session(engine);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_begin(&text);
    json_open(&w, NULL, '{');
    json_add_bool(&w, "idle", engine_idle(engine));
    json_add_bool(&w, "running", engine_turn_running(engine));
    json_add_bool(&w, "nobody_asked", engine_nobody_asked(engine));
    size_t more;
    json_add_str(&w, "refused", engine_refused(engine, &more));
    json_add_bool(&w, "stepping", engine_gates(engine)->stepping != STEP_RUN);
    json_add_bool(&w, "serial", engine_gates(engine)->serial);
    json_add_int(&w, "turns", session->turn_count);
    int64_t compacted = 0;
    for (uint32_t i = 0; i < session->step_count; i++)
        compacted += session->steps[i].compacted_seq > 0;
    json_add_int(&w, "compacted_steps", compacted);
    json_add_int(&w, "model_failure_seq", session->last_model_failure_seq);
    json_add_str(&w, "partial_text", session->partial_text.buf);
    json_add_num(&w, "now_ms", (double)loop_now_us(run->rig.loop) / 1000);
    json_add_int(&w, "tools", (int64_t)registry_count(run->rig.config.registry));
    json_add_str(&w, "last_event", event_type_name(run->rig.events[run->rig.event_count - 1].type));
    json_close(&w, '}');
    return (struct view){.name = "engine", .root = parse(run, text.buf, text.len), .used = 1};
}

static bool find_view(struct case_run *run, const char *const *words, struct view *view)
{
    const char *what = words[0];
    bool named = strcmp(what, "event") == 0 || strcmp(what, "message") == 0 || strcmp(what, "request") == 0 ||
                 strcmp(what, "tool") == 0;
    if (named && !words[1])
        case_fail(run, "%s of what?", what);
    if (strcmp(what, "event") == 0)
        *view = view_event(run, words[1]);
    else if (strcmp(what, "message") == 0)
        *view = view_message(run, words[1]);
    else if (strcmp(what, "request") == 0)
        *view = view_request(run, words[1]);
    else if (strcmp(what, "tool") == 0)
        *view = view_tool(run, words[1]);
    else if (strcmp(what, "held") == 0)
        *view = view_held(run);
    else if (strcmp(what, "question") == 0)
        *view = view_question(run);
    else if (strcmp(what, "engine") == 0)
        *view = view_engine(run);
    else
        return false;
    return true;
}

/* ---- fields ---- */

/* Fails if an event of this layout cannot have such a field. */
static void check_layout(struct case_run *run, const struct view *view, const char *path)
{
    static const char *const common[] = {"seq", "t", "turn"};
    for (size_t i = 0; i < COUNT_OF(common); i++)
        if (strcmp(path, common[i]) == 0)
            return;
    struct event_layout layout = *view->layout;
    for (const char *at = path;;) {
        size_t len = strcspn(at, ".[");
        const struct event_field *field = NULL;
        for (size_t i = 0; i < layout.count; i++)
            if (strlen(layout.fields[i].name) == len && strncmp(layout.fields[i].name, at, len) == 0)
                field = &layout.fields[i];
        if (!field)
            case_fail(run, "%s has no field %.*s", view->name, (int)(at + len - path), path);
        at += len;
        bool list = field->kind == EVENT_KIND_RECS || field->kind == EVENT_KIND_STRS || field->kind == EVENT_KIND_INTS;
        if (list && *at == '[')
            at += strcspn(at, "]") + 1;
        if (!*at || strcmp(at, ".length") == 0 || field->kind == EVENT_KIND_JSON || field->kind == EVENT_KIND_LIST ||
            field->kind == EVENT_KIND_OBJ)
            return;
        if ((field->kind != EVENT_KIND_RECS && field->kind != EVENT_KIND_OREC) || *at++ != '.')
            case_fail(run, "%s: %s goes into a value that has no fields", view->name, path);
        layout = event_record_layout(field->record);
    }
}

static const char *value_text(struct case_run *run, const struct json *value)
{
    return value->type == JSON_STRING ? value->text : arena_memdup0(&run->arena, value->src, value->src_len);
}

/* The text of a field, "-" if it is missing. "" is the whole view. */
static const char *field_text(struct case_run *run, const struct view *view, const char *path)
{
    if (view->layout && *path)
        check_layout(run, view, path);
    const struct json *value = view->root;
    for (const char *at = path; *at && value; at += *at == '.') {
        if (*at == '[') {
            long index = strtol(at + 1, NULL, 10);
            value = json_at(value, (size_t)(index < 0 ? (long)value->count + index : index));
            at += strcspn(at, "]") + 1;
            continue;
        }
        size_t len = strcspn(at, ".[");
        const char *key = arena_memdup0(&run->arena, at, len);
        const struct json *member = json_get(value, key);
        if (!member && strcmp(at, "length") == 0 && value->type != JSON_OBJECT)
            return arena_printf(&run->arena, "%zu", value->type == JSON_STRING ? value->len : (size_t)value->count);
        if (!member && !view->layout && !view->free)
            case_fail(run, "%s has no field %.*s", view->name, (int)(at + len - path), path);
        value = member;
        at += len;
    }
    return value ? value_text(run, value) : "-";
}

/* A number, or a product of numbers such as $before*0.7. */
static bool read_number(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    while (end != text && *end == '*') {
        text = end + 1;
        *number *= strtod(text, &end);
    }
    return end != text && !*end;
}

static bool compare(struct case_run *run, const char *is, const char *op, const char *wanted)
{
    double x, y;
    bool numbers = read_number(is, &x) && read_number(wanted, &y);
    if (strcmp(op, "~") == 0)
        return strstr(is, wanted) != NULL;
    if (strcmp(op, "!~") == 0)
        return !strstr(is, wanted);
    if (strcmp(op, "=") == 0 || strcmp(op, "!=") == 0)
        return (numbers ? x >= y && x <= y : strcmp(is, wanted) == 0) == (*op == '=');
    if (!numbers)
        case_fail(run, "%s compares numbers: %s and %s", op, is, wanted);
    if (strcmp(op, "<") == 0)
        return x < y;
    if (strcmp(op, ">") == 0)
        return x > y;
    return op[0] == '<' ? x <= y : x >= y;
}

/* FIELD=VALUE, and != ~ !~ < > <= >= */
static void check_field(struct case_run *run, const struct view *view, const char *word)
{
    size_t len = strcspn(word, "=!~<>");
    const char *field = arena_memdup0(&run->arena, word, len);
    size_t op_len =
        (word[len] == '!' || word[len] == '<' || word[len] == '>') && (word[len + 1] == '=' || word[len + 1] == '~')
            ? 2
            : 1;
    const char *op = arena_memdup0(&run->arena, word + len, word[len] ? op_len : 0);
    if (!*op || strcmp(op, "!") == 0)
        case_fail(run, "%s is no comparison: FIELD=VALUE, or != ~ !~ < > <= >=", word);
    const char *wanted = word + len + op_len;
    const char *is = field_text(run, view, field);
    if (!compare(run, is, op, wanted))
        case_fail(run, "%s\nexpected: %s%s%s\n    came: %s", view->name, field, op, wanted, is);
}

static void check_fields(struct case_run *run, const struct view *view, const char *const *words)
{
    if (!view->root)
        case_fail(run, "%s: %s", view->name, view->why);
    for (; *words; words++)
        check_field(run, view, *words);
}

/* ---- expectations that are no view ---- */

/* Types of events in order, with a call or gate where it matters. "..." matches any number of other events. */
static bool story_fits(struct case_run *run, const char *const *words, size_t first)
{
    for (; *words; words++, first++) {
        if (strcmp(*words, "...") == 0) {
            for (size_t i = first; i <= run->rig.event_count; i++)
                if (story_fits(run, words + 1, i))
                    return true;
            return false;
        }
        struct event_name name = parse_event_name(run, *words);
        if (first >= run->rig.event_count || !event_has_name(run, &run->rig.events[first], &name))
            return false;
    }
    return first == run->rig.event_count;
}

static void expect_count(struct case_run *run, const char *const *words)
{
    struct event_name name = parse_event_name(run, words[0]);
    const struct event *event;
    const char *count = arena_printf(&run->arena, "%zu", count_events(run, &name, &event));
    const char *digits = words[1] + strspn(words[1], "<>=!");
    const char *op = digits == words[1] ? "=" : arena_memdup0(&run->arena, words[1], (size_t)(digits - words[1]));
    if (!compare(run, count, op, digits))
        case_fail(run, "events %s\nexpected: %s\n    came: %s", words[0], words[1], count);
}

static void expect_text(struct case_run *run, const char *what, const char *is, const char *wanted)
{
    if (strcmp(is, wanted) != 0)
        case_fail(run, "%s\nexpected: %s\n    came: %s", what, wanted, is);
}

static const char *newest_outcome(struct case_run *run, const char *call)
{
    for (size_t i = run->rig.event_count; i > 0; i--) {
        const struct event *event = &run->rig.events[i - 1];
        if (event->type != EVENT_TOOL_FINISHED || strcmp(event->tool_finished.call, call) != 0)
            continue;
        return event->tool_finished.denied ? arena_printf(&run->arena, "denied:%s", event->tool_finished.denied->reason)
                                           : event->tool_finished.outcome;
    }
    return "none";
}

static void expect_status(struct case_run *run, const char *const *words)
{
    struct view view = view_event(run, "turn.finished#last");
    check_fields(run, &view, (const char *[]){arena_printf(&run->arena, "status=%s", words[0]), NULL});
    check_fields(run, &view, words + 1);
}

/* WHY the turn is held, "*" for any reason, and fields of the gate's item. */
static void expect_held(struct case_run *run, const char *const *words)
{
    struct view view = view_held(run);
    const char *why = strcmp(words[0], "*") == 0 ? "why!=" : arena_printf(&run->arena, "why=%s", words[0]);
    check_fields(run, &view, (const char *[]){why, NULL});
    check_fields(run, &view, words + 1);
}

static void expect_file(struct case_run *run, const char *path, const char *wanted)
{
    CLEANUP(free) char *text = turn_rig_read(&run->rig, path);
    if (!wanted && text)
        case_fail(run, "the file %s is there: %s", path, text);
    if (wanted)
        expect_text(run, path, text ? text : "(no file)", wanted);
}

/* Fails if any event or any line of the journal file contains this text. */
static void expect_no_trace(struct case_run *run, const char *text)
{
    CLEANUP(free) char *file = scratch_read(&run->rig.scratch, "s.jsonl", NULL);
    if (!file)
        case_fail(run, "there is no journal file: `set journal file` makes one");
    if (strstr(file, text))
        case_fail(run, "the journal holds %s", text);
    for (size_t i = 0; i < run->rig.event_count; i++)
        if (memmem(run->rig.events[i].raw, run->rig.events[i].raw_len, text, strlen(text)))
            case_fail(run, "event %zu holds %s", i + 1, text);
}

/* The text of all deltas, one after another. */
static void expect_deltas(struct case_run *run, const char *wanted)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    for (size_t i = 0; i < run->rig.event_count; i++)
        if (run->rig.events[i].type == EVENT_MODEL_DELTA)
            strbuf_addstr(&text, run->rig.events[i].model_delta.text);
    expect_text(run, "deltas", text.buf, wanted);
}

static void expect_mode(struct case_run *run, const char *path, const char *wanted)
{
    CLEANUP(free) char *at = case_path(run, path);
    struct stat st;
    if (stat(at, &st) < 0)
        case_fail(run, "there is no %s", path);
    expect_text(run, path, arena_printf(&run->arena, "%04o", (unsigned)st.st_mode & 07777), wanted);
}

static void expect_folder(struct case_run *run, const char *path, const char *wanted)
{
    CLEANUP(free) char *name = xasprintf("work/%s", path);
    CLEANUP(free) char *names = scratch_list(&run->rig.scratch, name);
    expect_text(run, path, names, wanted);
}

static void expect_number(struct case_run *run, const char *what, size_t is, const char *wanted)
{
    expect_text(run, what, arena_printf(&run->arena, "%zu", is), wanted);
}

/* The subjects of `expect`: name, number of words, and the function that checks. */
static bool expect_plain(struct case_run *run, const char *const *words, size_t count)
{
    static const struct {
        const char *name;
        size_t words;
    } plain[] = {{"count", 2},       {"outcome", 2},  {"file", 2},      {"no-file", 1}, {"folder", 2},
                 {"requests", 1},    {"walked", 1},   {"questions", 1}, {"nothing", 1}, {"refused", 1},
                 {"no-question", 0}, {"not-held", 0}, {"deltas", 1},    {"mode", 2}};
    const char *what = words[0], *first = words[1], *second = count > 2 ? words[2] : NULL;
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (strcmp(plain[i].name, what) == 0 && plain[i].words != count - 1)
            case_fail(run, "expect %s takes %zu words, not %zu", what, plain[i].words, count - 1);
    if (strcmp(what, "count") == 0)
        expect_count(run, words + 1);
    else if (strcmp(what, "outcome") == 0)
        expect_text(run, first, newest_outcome(run, first), second);
    else if (strcmp(what, "file") == 0)
        expect_file(run, first, second);
    else if (strcmp(what, "no-file") == 0)
        expect_file(run, first, NULL);
    else if (strcmp(what, "folder") == 0)
        expect_folder(run, first, second);
    else if (strcmp(what, "mode") == 0)
        expect_mode(run, first, second);
    else if (strcmp(what, "requests") == 0)
        expect_number(run, "requests", run->rig.model->request_count, first);
    else if (strcmp(what, "questions") == 0)
        expect_number(run, "questions", run->rig.questions, first);
    else if (strcmp(what, "walked") == 0)
        expect_text(run, "gates", run->walked.buf, first);
    else if (strcmp(what, "nothing") == 0)
        expect_no_trace(run, first);
    else if (strcmp(what, "deltas") == 0)
        expect_deltas(run, first);
    else if (strcmp(what, "refused") == 0)
        expect_text(run, "the automatic answer", run->refusal ? steal(&run->refusal) : "(was taken)", first);
    else if (strcmp(what, "no-question") == 0 || strcmp(what, "not-held") == 0) {
        struct view view = *what == 'n' && what[2] == '-' ? view_question(run) : view_held(run);
        if (view.root)
            case_fail(run, "%s: %s", view.name, value_text(run, view.root));
    } else
        return false;
    return true;
}

void case_expect(struct case_run *run, const struct words *words)
{
    const char *const *word = (const char *const *)words->item + 1;
    struct view view;
    if (words->count < 2)
        case_fail(run, "expect what?");
    if (strcmp(*word, "story") == 0) {
        if (!story_fits(run, word + 1, 0))
            case_fail(run, "the story is another one (see below)");
    } else if (strcmp(*word, "status") == 0 && words->count > 2) {
        expect_status(run, word + 1);
    } else if (strcmp(*word, "held") == 0 && words->count > 2) {
        expect_held(run, word + 1);
    } else if (!expect_plain(run, word, words->count - 1)) {
        if (!find_view(run, word, &view))
            case_fail(run, "nothing is called %s", *word);
        check_fields(run, &view, word + view.used);
    }
}

void case_remember(struct case_run *run, const struct words *words)
{
    struct view view;
    if (words->count < 4 || !find_view(run, (const char *const *)words->item + 2, &view) ||
        words->count != view.used + 3)
        case_fail(run, "remember NAME VIEW FIELD");
    if (!view.root)
        case_fail(run, "%s: %s", view.name, view.why);
    case_set(run, words->item[1], field_text(run, &view, words->item[view.used + 2]));
}
