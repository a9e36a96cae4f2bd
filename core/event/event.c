/* Event types and record layouts, and operations on any event: copy it, visit its texts, write its schema.
 *
 * The tables come from event.def. In the generated switches, `self` is the struct of the row, so a row of event.def
 * needs only the names of its fields. */

#include "event.h"
#include "base/json.h"
#include "base/mem.h"
#include <stddef.h>
#include <string.h>

struct type_info {
    const char *name;
    size_t len;
    const char *doc;
};

static const struct type_info types[EVENT_TYPE_COUNT] = {
#define F(kind, ...)
#define REC(name, ...)
#define EVENT(ID, member, name, doc, ...) [EVENT_##ID] = {name, sizeof(name) - 1, doc},
#include "event.def"
#undef EVENT
#undef REC
#undef F
};

const char *event_type_name(enum event_type type)
{
    return (unsigned)type < EVENT_TYPE_COUNT ? types[type].name : NULL;
}

const char *event_type_doc(enum event_type type)
{
    return (unsigned)type < EVENT_TYPE_COUNT ? types[type].doc : NULL;
}

enum event_decided_as event_decided_as(const char *decision, const char *by)
{
    static const char *const approving[] = {"approved", "partial", "edited"};
    for (size_t i = 0; decision && i < COUNT_OF(approving); i++)
        if (strcmp(decision, approving[i]) == 0)
            return DECIDED_APPROVED;
    bool canceled = by && strcmp(by, "cancel") == 0;
    return decision && *decision && !canceled ? DECIDED_DENIED : DECIDED_NOTHING;
}

enum event_type event_type_from_name(const char *name, size_t len)
{
    for (int type = EVENT_OTHER + 1; type < EVENT_TYPE_COUNT; type++)
        if (types[type].len == len && types[type].name[0] == name[0] && memcmp(types[type].name, name, len) == 0)
            return (enum event_type)type;
    return EVENT_OTHER;
}

/* ---- layouts ---- */

#define ROW(kind_, field, record_, ...) \
    {.name = #field, .kind = kind_, .record = EVENT_RECORD_##record_, .offset = offsetof(self, field)},
#define F(kind, ...) ROW(EVENT_KIND_##kind, __VA_ARGS__, NONE, )
#define LAYOUT(what, ...)                                                       \
    {                                                                           \
        typedef struct event_##what self;                                       \
        static const struct event_field table[] = {__VA_ARGS__{.name = NULL}};  \
        return (struct event_layout){table, COUNT_OF(table) - 1, sizeof(self)}; \
    }

struct event_layout event_layout(enum event_type type)
{
    switch (type) {
#define REC(name, ...)
#define EVENT(ID, member, name, doc, ...) \
    case EVENT_##ID:                      \
        LAYOUT(member, __VA_ARGS__)
#include "event.def"
#undef EVENT
#undef REC
    case EVENT_OTHER:
    case EVENT_TYPE_COUNT:
        break;
    }
    return (struct event_layout){0};
}

struct event_layout event_record_layout(enum event_record record)
{
    switch (record) {
#define REC(name, ...)        \
    case EVENT_RECORD_##name: \
        LAYOUT(name, __VA_ARGS__)
#define EVENT(ID, member, name, doc, ...)
#include "event.def"
#undef EVENT
#undef REC
    case EVENT_RECORD_NONE:
    case EVENT_RECORD_COUNT:
        break;
    }
    return (struct event_layout){0};
}

/* Records and lists have one shape, whatever they hold; these views read and write them. */
struct list_view {
    const void *items;
    size_t count;
};

static struct list_view list_at(const void *place)
{
    struct list_view list;
    memcpy(&list, place, sizeof(list));
    return list;
}

static void set_pointer(void *place, const void *pointer)
{
    memcpy(place, &pointer, sizeof(pointer));
}

static const void *pointer_at(const void *place)
{
    const void *pointer;
    memcpy(&pointer, place, sizeof(pointer));
    return pointer;
}

/* Visiting texts. A visit replaces what it changed by copies; `deep` copies everything. */
struct visit {
    struct arena *arena;
    event_text_fn *text;
    void *user;
    bool deep;
};

static bool visit_text(const struct visit *visit, void *place, bool json)
{
    const char *text = pointer_at(place);
    const char *now = text ? visit->text(visit->arena, text, json, visit->user) : NULL;
    if (now)
        set_pointer(place, now);
    return now != NULL;
}

/* Aligned for any type, which arena_memdup0 is not. */
static void *copy_bytes(struct arena *arena, const void *bytes, size_t len)
{
    return memcpy(arena_alloc(arena, len + 1), bytes, len);
}

static bool visit_body(const struct visit *visit, struct event_layout layout, void *body);

static bool visit_strs(const struct visit *visit, void *place)
{
    struct list_view list = list_at(place);
    const char **items = arena_alloc(visit->arena, (list.count + 1) * sizeof(*items));
    bool changed = visit->deep;
    memcpy(items, list.items, list.count * sizeof(*items));
    for (size_t i = 0; i < list.count; i++)
        changed |= visit_text(visit, &items[i], false);
    if (changed)
        set_pointer(place, items);
    return changed;
}

/* One record, or the items of a list of records. */
static bool visit_records(const struct visit *visit, enum event_record record, void *place, size_t count)
{
    struct event_layout layout = event_record_layout(record);
    char *items = arena_alloc(visit->arena, count * layout.size + 1);
    bool changed = visit->deep;
    memcpy(items, pointer_at(place), count * layout.size);
    for (size_t i = 0; i < count; i++)
        changed |= visit_body(visit, layout, items + i * layout.size);
    if (changed)
        set_pointer(place, items);
    return changed;
}

static bool visit_field(const struct visit *visit, const struct event_field *field, void *place)
{
    switch (field->kind) {
    case EVENT_KIND_STR:
    case EVENT_KIND_NSTR:
        return visit_text(visit, place, false);
    case EVENT_KIND_JSON:
    case EVENT_KIND_LIST:
    case EVENT_KIND_OBJ:
        return visit_text(visit, place, true);
    case EVENT_KIND_STRS:
        return pointer_at(place) && visit_strs(visit, place);
    case EVENT_KIND_OREC:
        return pointer_at(place) && visit_records(visit, field->record, place, 1);
    case EVENT_KIND_RECS:
        return pointer_at(place) && visit_records(visit, field->record, place, list_at(place).count);
    case EVENT_KIND_INTS:
        if (!visit->deep || !pointer_at(place))
            return false;
        set_pointer(place, copy_bytes(visit->arena, pointer_at(place), list_at(place).count * sizeof(int64_t)));
        return true;
    case EVENT_KIND_INT:
    case EVENT_KIND_NINT:
    case EVENT_KIND_OINT:
    case EVENT_KIND_NUM:
    case EVENT_KIND_NNUM:
    case EVENT_KIND_BOOL:
    case EVENT_KIND_YES:
    case EVENT_KIND_FLAG:
        break;
    }
    return false;
}

static bool visit_body(const struct visit *visit, struct event_layout layout, void *body)
{
    bool changed = false;
    for (size_t i = 0; i < layout.count; i++)
        changed |= visit_field(visit, &layout.fields[i], (char *)body + layout.fields[i].offset);
    return changed;
}

void event_map_texts(struct event *event, struct arena *arena, event_text_fn *text, void *user)
{
    struct visit visit = {.arena = arena, .text = text, .user = user};
    visit_body(&visit, event_layout(event->type), event_body(event));
}

static const char *copy_text(struct arena *arena, const char *text, bool json, void *user)
{
    (void)json;
    (void)user;
    return arena_strdup(arena, text);
}

struct event *event_copy(struct arena *arena, const struct event *event)
{
    struct visit visit = {.arena = arena, .text = copy_text, .deep = true};
    struct event *copy = copy_bytes(arena, event, sizeof(*event));
    if (event->raw)
        copy->raw = arena_memdup0(arena, event->raw, event->raw_len);
    if (event->type == EVENT_OTHER && event->type_name)
        copy->type_name = arena_strdup(arena, event->type_name);
    visit_body(&visit, event_layout(event->type), event_body(copy));
    return copy;
}
#undef F
