/* The view's cache of decoded events, by journal line. It leads from rows to long texts.
 *
 * The cache drops the least recently used events first, but never one used in the current frame, because the painter
 * may hold pointers to it. view_frame_end allows dropping them, and frees what was derived from them in the cache's
 * arena.
 *
 * A seq gives the line, because lines are numbered 1, 2, 3 … If a person deleted lines from the file, that guess is
 * wrong. Then a binary search finds the line, because the numbers ascend. */

#include "view.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/words.h"
#include <string.h>

#define EVENTS_KEPT 256
#define BYTES_KEPT  ((size_t)8 << 20)
#define BUCKETS     512
#define PUT_MAX     ((size_t)64 << 10) /* bytes of a new event; a longer one is decoded in short form when shown */
#define REUSED_MAX  ((size_t)16 << 10) /* bytes of an arena that is reused for the next event */

struct cached {
    size_t row;          /* line of the journal */
    struct event *event; /* NULL: the line cannot be read */
    const char *words;   /* text of the row in a list; NULL: not built yet */
    struct arena arena;
    size_t bytes;
    uint64_t frame;      /* frame of its last use */
    struct cached *next; /* next in its bucket */
    struct cached *older, *newer;
};

struct view_cache {
    const struct journal_reader *lines;
    struct cached *buckets[BUCKETS];
    struct cached *oldest, *newest;
    size_t count, bytes;
    uint64_t frame;
    struct arena arena; /* freed when the frame ends */
};

struct view_cache *view_cache_new(void)
{
    return xcalloc(1, sizeof(struct view_cache));
}

static void unlink_cached(struct view_cache *cache, struct cached *item)
{
    *(item->older ? &item->older->newer : &cache->oldest) = item->newer;
    *(item->newer ? &item->newer->older : &cache->newest) = item->older;
}

static void link_newest(struct view_cache *cache, struct cached *item)
{
    item->older = cache->newest;
    item->newer = NULL;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = item;
    cache->newest = item;
}

/* Removes the oldest event. The caller owns its memory. */
static struct cached *take_oldest(struct view_cache *cache)
{
    struct cached *item = cache->oldest, **at = &cache->buckets[item->row % BUCKETS];
    while (*at != item)
        at = &(*at)->next;
    *at = item->next;
    unlink_cached(cache, item);
    cache->count--;
    cache->bytes -= item->bytes;
    return item;
}

static void free_cached(struct cached *item)
{
    if (item)
        arena_release(&item->arena);
    free(item);
}

void view_cache_free(struct view_cache *cache)
{
    if (!cache)
        return;
    while (cache->oldest)
        free_cached(take_oldest(cache));
    arena_release(&cache->arena);
    free(cache);
}

size_t view_cache_count(const struct view_cache *cache)
{
    return cache->count;
}

/* Keeps the cache within its bounds. Returns the last event it removed, for reuse; NULL: none. */
static struct cached *trim(struct view_cache *cache, size_t most)
{
    struct cached *spare = NULL;
    while (cache->oldest && cache->oldest->frame != cache->frame &&
           (cache->count > most || cache->bytes > BYTES_KEPT)) {
        free_cached(spare);
        spare = take_oldest(cache);
    }
    return spare;
}

static struct cached *find_cached(struct view_cache *cache, size_t row)
{
    struct cached *item = cache->buckets[row % BUCKETS];
    while (item && item->row != row)
        item = item->next;
    return item;
}

/* An empty entry for this row; add_cached inserts it. */
static struct cached *new_cached(struct view_cache *cache, size_t row)
{
    struct cached *item = trim(cache, EVENTS_KEPT - 1);
    if (!item)
        item = xcalloc(1, sizeof(*item));
    if (item->bytes > REUSED_MAX)
        arena_release(&item->arena);
    else
        arena_reset(&item->arena);
    item->row = row;
    item->event = NULL;
    item->words = NULL;
    return item;
}

static void add_cached(struct view_cache *cache, struct cached *item)
{
    struct cached **bucket = &cache->buckets[item->row % BUCKETS];
    item->bytes = sizeof(*item) + arena_bytes(&item->arena);
    item->frame = cache->frame;
    item->next = *bucket;
    *bucket = item;
    link_newest(cache, item);
    cache->count++;
    cache->bytes += item->bytes;
}

void view_cache_put(struct view_cache *cache, const struct event *event, const struct session *session)
{
    size_t row = session->event_count - 1;
    if (find_cached(cache, row))
        return;
    struct cached *item = new_cached(cache, row);
    item->event = event_copy(&item->arena, event);
    if (arena_bytes(&item->arena) > PUT_MAX) {
        free_cached(item);
        return;
    }
    add_cached(cache, item);
    item->frame = cache->frame - 1; /* not used yet */
}

static void decode(const struct view *view, struct cached *item)
{
    struct event *event = arena_alloc(&item->arena, sizeof(*event));
    if (journal_event_short(view->lines, item->row, event, &item->arena, NULL) == 0)
        item->event = event;
}

const struct event *view_row(const struct view *view, size_t row)
{
    struct view_cache *cache = view->cache;
    if (!view->lines || !cache || row >= journal_count(view->lines))
        return NULL;
    if (cache->lines && cache->lines != view->lines)
        while (cache->oldest)
            free_cached(take_oldest(cache));
    cache->lines = view->lines;
    struct cached *item = find_cached(cache, row);
    if (item) {
        unlink_cached(cache, item);
        link_newest(cache, item);
        item->frame = cache->frame;
    } else {
        item = new_cached(cache, row);
        decode(view, item);
        add_cached(cache, item);
    }
    if (item->event) /* lines move when the file grows */
        item->event->raw = journal_line(view->lines, row, &item->event->raw_len);
    return item->event;
}

const char *view_row_words(const struct view *view, size_t row)
{
    const struct event *event = view_row(view, row);
    struct cached *item = event ? find_cached(view->cache, row) : NULL;
    if (item && !item->words) {
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        event_words(&words, WORDS_ROW, view->session, event);
        item->words = arena_strdup(&item->arena, words.buf);
        view->cache->bytes -= item->bytes;
        item->bytes = sizeof(*item) + arena_bytes(&item->arena);
        view->cache->bytes += item->bytes;
    }
    return item ? item->words : "";
}

void view_frame_end(const struct view *view)
{
    struct view_cache *cache = view ? view->cache : NULL;
    if (!cache)
        return;
    cache->frame++;
    free_cached(trim(cache, EVENTS_KEPT));
    arena_reset(&cache->arena);
}

struct arena *view_arena(const struct view *view)
{
    return &view->cache->arena;
}

const struct json *view_json(const struct view *view, const char *text)
{
    return event_leaf(&view->cache->arena, text);
}

/* ---- by number ---- */

size_t view_row_count(const struct view *view)
{
    if (!view->lines || !view->session)
        return 0;
    size_t lines = journal_count(view->lines), events = view->session->event_count;
    return events < lines ? events : lines;
}

size_t view_find_row(const struct view *view, int64_t seq)
{
    size_t low = 0, high = view->lines ? journal_count(view->lines) : 0, end = high;
    const struct event *event = seq >= 1 ? view_row(view, (size_t)seq - 1) : NULL;
    if (seq < 1 || (event && event->seq == seq))
        return seq < 1 ? SIZE_MAX : (size_t)seq - 1;
    while (low < high) { /* find the first row whose seq is at least this one */
        size_t middle = low + (high - low) / 2;
        event = view_row(view, middle);
        if (event && event->seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    event = low < end ? view_row(view, low) : NULL;
    return event && event->seq == seq ? low : SIZE_MAX;
}

const struct event *view_event(const struct view *view, int64_t seq)
{
    size_t row = view_find_row(view, seq);
    return row == SIZE_MAX ? NULL : view_row(view, row);
}

const struct event *view_event_of(const struct view *view, int64_t seq, enum event_type type)
{
    const struct event *event = view_event(view, seq);
    return event && event->type == type ? event : NULL;
}

/* ---- fields of events ---- */

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
    return id ? session_find_call_in(session, id, event->turn) : SESSION_NONE;
}

const struct session_step *view_step_requested(const struct view *view, int64_t seq)
{
    const struct session *session = view->session;
    for (uint32_t i = 0; session && i < session->step_count; i++)
        if (session->steps[i].requested_seq == seq)
            return &session->steps[i];
    return NULL;
}

#define PIECES_MAX 50000 /* lines that are read for one answer, in one frame */

bool view_interrupted_answer(const struct view *view, const struct session_step *step, struct strbuf *text,
                             struct strbuf *thinking)
{
    size_t row = step->first_delta_seq ? view_find_row(view, step->first_delta_seq) : SIZE_MAX;
    const struct event *event;
    for (size_t count = 0; row != SIZE_MAX && count < PIECES_MAX && (event = view_row(view, row)); row++, count++) {
        if (event->seq > step->last_delta_seq)
            break;
        if (event->type != EVENT_MODEL_DELTA)
            continue;
        if (event->model_delta.text)
            strbuf_addstr(text, event->model_delta.text);
        if (event->model_delta.thinking)
            strbuf_addstr(thinking, event->model_delta.thinking);
    }
    return text->len || thinking->len;
}

struct event_tool_info_list view_tools(const struct view *view)
{
    const struct event *event = view->session->tools_seq ? view_event(view, view->session->tools_seq) : NULL;
    return !event                                 ? (struct event_tool_info_list){0}
           : event->type == EVENT_SESSION_STARTED ? event->session_started.tools
           : event->type == EVENT_TOOLS_CHANGED   ? event->tools_changed.tools
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
    if (strncmp(spec, "tool=", 5) != 0)
        return false;
    struct event_tool_info_list tools = view_tools(view);
    return tools.count && !find_tool(&tools, spec + 5);
}

const struct json *view_call_arguments(const struct view *view, const struct session_call *call)
{
    const struct event *event = NULL;
    if (call->started_seq) {
        event = view_event_of(view, call->started_seq, EVENT_TOOL_STARTED);
        return event ? view_json(view, event->tool_started.arguments) : NULL;
    }
    if (call->edited_seq) {
        event = view_event_of(view, call->edited_seq, EVENT_EDITED);
        return event ? view_json(view, event->edited.after) : NULL;
    }
    event = view_event_of(view, call->responded_seq, EVENT_MODEL_RESPONDED);
    for (size_t i = 0; event && i < event->model_responded.tool_calls.count; i++) {
        const struct event_tool_request *asked = &event->model_responded.tool_calls.items[i];
        if (strcmp(asked->id ? asked->id : "", session_name(view->session, call->id)) == 0)
            return view_json(view, asked->arguments);
    }
    return NULL;
}

const char *view_call_effect(const struct view *view, const struct session_call *call)
{
    const char *effect = session_name(view->session, call->effect), *tool = session_name(view->session, call->tool);
    if (*effect || call->started_seq)
        return effect;
    struct event_tool_info_list tools = view_tools(view);
    const struct event_tool_info *info = find_tool(&tools, tool);
    return info && info->effect ? info->effect : "";
}
