/* Rows hold seqs; a seq says which line, because lines are numbered 1, 2, 3 … That is only a guess for a file from
 * which somebody took lines by hand: then the line is looked for, by halves, since numbers ascend. */

#include "view.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include <string.h>

#define EDITED_BACK 256 /* events */
#define LONG_LINE   ((size_t)64 << 10)
#define LINE_ENDS   4096 /* bytes at both ends of a line that tell it from another */

/* A frame asks for a line several times, and decoding one of megabytes takes a good part of what a frame may take. So
 * the long one that was decoded last is kept, with what tells whether it is still the same. */
static struct {
    const struct journal_reader *lines;
    size_t row, len;
    char head[LINE_ENDS], tail[LINE_ENDS];
    bool good; /* it is an event */
    struct event event;
    struct arena arena;
} kept;

/* Decodes a long line into `kept`, unless it is there. */
static bool keep(const struct view *view, size_t row, const char *line, size_t len)
{
    const char *tail = line + len - LINE_ENDS;
    if (kept.lines != view->lines || kept.row != row || kept.len != len || memcmp(kept.head, line, LINE_ENDS) != 0 ||
        memcmp(kept.tail, tail, LINE_ENDS) != 0) {
        kept.lines = view->lines;
        kept.row = row;
        kept.len = len;
        memcpy(kept.head, line, LINE_ENDS);
        memcpy(kept.tail, tail, LINE_ENDS);
        arena_release(&kept.arena);
        kept.good = journal_event_short(view->lines, row, &kept.event, &kept.arena, NULL) == 0;
    }
    return kept.good;
}

static bool decode(const struct view *view, size_t row, struct event *event, struct arena *arena)
{
    size_t len;
    if (!view->lines || row >= journal_count(view->lines))
        return false;
    const char *line = journal_line(view->lines, row, &len);
    if (len < LONG_LINE)
        return journal_event_short(view->lines, row, event, arena, NULL) == 0;
    if (!keep(view, row, line, len))
        return false;
    struct event texts = kept.event;
    texts.raw = NULL; /* the line itself is not copied */
    *event = *event_copy(arena, &texts);
    event->raw = line;
    event->raw_len = len;
    return true;
}

/* -1: it is no event. */
static int64_t seq_of(const struct view *view, size_t row)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    size_t len;
    if (!view->lines || row >= journal_count(view->lines))
        return -1;
    const char *line = journal_line(view->lines, row, &len);
    if (len >= LONG_LINE)
        return keep(view, row, line, len) ? kept.event.seq : -1;
    return journal_event_short(view->lines, row, &event, &arena, NULL) == 0 ? event.seq : -1;
}

size_t view_row_count(const struct view *view)
{
    if (!view->lines || !view->session)
        return 0;
    size_t lines = journal_count(view->lines), events = view->session->event_count;
    return events < lines ? events : lines;
}

bool view_row(const struct view *view, size_t row, struct event *event, struct arena *arena)
{
    return decode(view, row, event, arena);
}

/* The first row whose seq is not below this one. */
static size_t find_by_halves(const struct view *view, int64_t seq)
{
    size_t low = 0, high = view->lines ? journal_count(view->lines) : 0, end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t here = seq_of(view, middle);
        if (here >= 0 && here < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && seq_of(view, low) == seq ? low : SIZE_MAX;
}

size_t view_find_row(const struct view *view, int64_t seq)
{
    if (seq < 1)
        return SIZE_MAX;
    return seq_of(view, (size_t)seq - 1) == seq ? (size_t)seq - 1 : find_by_halves(view, seq);
}

bool view_event(const struct view *view, int64_t seq, struct event *event, struct arena *arena)
{
    if (seq < 1)
        return false;
    if (decode(view, (size_t)seq - 1, event, arena) && event->seq == seq)
        return true;
    size_t row = find_by_halves(view, seq);
    return row != SIZE_MAX && decode(view, row, event, arena);
}

const char *view_event_text(const struct event *event, const char *name)
{
    struct event_layout layout = event_layout(event->type);
    for (size_t i = 0; i < layout.count; i++) {
        const struct event_field *field = &layout.fields[i];
        if (strcmp(field->name, name) == 0 && field->kind == EVENT_KIND_STR)
            return *(const char *const *)((const char *)&event->session_started + field->offset);
    }
    return NULL;
}

static uint32_t find_in_turn(const struct session *session, int64_t turn_number, const char *id)
{
    for (uint32_t i = session->turn_count; i-- > 0;) {
        const struct session_turn *turn = &session->turns[i];
        if (turn->number > turn_number)
            continue;
        if (turn->number < turn_number)
            break;
        for (uint32_t row = turn->first_call; row < turn->first_call + turn->call_count; row++)
            if (strcmp(session_name(session, session->calls[row].id), id) == 0)
                return row;
    }
    return SESSION_NONE;
}

uint32_t view_event_call(const struct view *view, const struct event *event)
{
    const struct session *session = view->session;
    if (!session)
        return SESSION_NONE;
    if (event->type == EVENT_WRITE_DECIDED && event->write_decided.ask) {
        uint32_t ask = session_find_ask(session, event->write_decided.ask);
        return ask == SESSION_NONE ? SESSION_NONE : session->asks[ask].call;
    }
    const char *id = view_event_text(event, "call"), *program = view_event_text(event, "program");
    if (!id && program) {
        uint32_t row = session_find_program(session, program);
        return row == SESSION_NONE ? SESSION_NONE : session->programs[row].call;
    }
    if (!id)
        return SESSION_NONE;
    uint32_t row = find_in_turn(session, event->turn, id);
    return row != SESSION_NONE ? row : session_find_call(session, id);
}

struct event_tool_info_list view_tools(const struct view *view, struct arena *arena)
{
    struct event event;
    if (!view->lines || !view->session->tools_seq || !view_event(view, view->session->tools_seq, &event, arena))
        return (struct event_tool_info_list){0};
    return event.type == EVENT_SESSION_STARTED ? event.session_started.tools
           : event.type == EVENT_TOOLS_CHANGED ? event.tools_changed.tools
                                               : (struct event_tool_info_list){0};
}

static const struct event_tool_info *find_tool(const struct event_tool_info_list *tools, const char *name)
{
    for (size_t i = 0; i < tools->count; i++)
        if (strcmp(tools->items[i].name ? tools->items[i].name : "", name) == 0)
            return &tools->items[i];
    return NULL;
}

bool view_breaks_on_nothing(const struct view *view, const char *spec)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    if (strncmp(spec, "tool=", 5) != 0)
        return false;
    struct event_tool_info_list tools = view_tools(view, &arena);
    return tools.count && !find_tool(&tools, spec + 5);
}

static const struct json *parse(struct arena *arena, const char *text)
{
    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

/* What came out of the newest edit of a call that has not begun; NULL: none. The calls of an answer begin before the
 * next one comes, so only its own events are looked at. */
static const struct json *edited_arguments(const struct view *view, const struct session_call *call, const char *id,
                                           struct arena *arena)
{
    if (!view->session->counts[EVENT_EDITED])
        return NULL;
    CLEANUP(arena) struct arena passing = ARENA_INIT;
    for (size_t row = view_row_count(view), back = 0; row > 0 && back < EDITED_BACK; row--, back++) {
        struct event event;
        arena_reset(&passing);
        if (!decode(view, row - 1, &event, &passing) || event.seq <= call->responded_seq)
            break;
        if (event.type == EVENT_EDITED && event.edited.what && strcmp(event.edited.what, "arguments") == 0 &&
            event.edited.call && strcmp(event.edited.call, id) == 0)
            return decode(view, row - 1, &event, arena) ? parse(arena, event.edited.after) : NULL;
    }
    return NULL;
}

const struct json *view_call_arguments(const struct view *view, const struct session_call *call, struct arena *arena)
{
    const char *id = session_name(view->session, call->id);
    struct event event;
    if (call->started_seq)
        return view_event(view, call->started_seq, &event, arena) && event.type == EVENT_TOOL_STARTED
                   ? parse(arena, event.tool_started.arguments)
                   : NULL;
    const struct json *edited = edited_arguments(view, call, id, arena);
    if (edited)
        return edited;
    if (!view_event(view, call->responded_seq, &event, arena) || event.type != EVENT_MODEL_RESPONDED)
        return NULL;
    for (size_t i = 0; i < event.model_responded.tool_calls.count; i++) {
        const struct event_tool_request *asked = &event.model_responded.tool_calls.items[i];
        if (strcmp(asked->id ? asked->id : "", id) == 0)
            return parse(arena, asked->arguments);
    }
    return NULL;
}

const char *view_call_effect(const struct view *view, const struct session_call *call, struct arena *arena)
{
    const char *effect = session_name(view->session, call->effect), *tool = session_name(view->session, call->tool);
    if (*effect || call->started_seq)
        return effect;
    struct event_tool_info_list tools = view_tools(view, arena);
    const struct event_tool_info *info = find_tool(&tools, tool);
    return info && info->effect ? info->effect : "";
}
