/* Compares a run with its recording; divergence.h lists what counts.
 *
 * Every recorded event that can be compared has a key: its turn, type, subject (a call or a step) and how many such
 * events came before. An event of the run looks up its key. So the order in which the calls of a wave end does not
 * matter, while a missing, additional or different event does.
 *
 * The order is checked separately where it is guaranteed: among the events of one call, and for the turn's own events
 * between its waves. Each event of the run must have been recorded after those it followed. A late thread only has to
 * come after its call. */

#include "divergence.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "compaction.h"
#include "event/compare.h"
#include "event/words.h"
#include "replay.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_EVENT "event" /* the field of a divergence about the whole event */
#define SHOWN_CHARS 120
#define SHOWN_LEAD  20   /* bytes before the difference of two long texts */
#define KEPT_MAX    1000 /* divergences stored; after the first they seldom add information */

/* The types that are compared, and their fields. */
static const struct {
    enum event_type type;
    const char *about; /* the field that names the call or step, NULL */
    const char *fields[8];
} rules[] = {
    {EVENT_TURN_STARTED, NULL, {"prompt"}},
    {EVENT_CONTEXT_LOADED, NULL, {"pack"}},
    {EVENT_BUDGET_OPENED, NULL, {"limits"}},
    {EVENT_TURN_PREPARED, NULL, {"messages", "prompt_render_hash"}},
    {EVENT_MODEL_RESPONDED, "step", {"text", "tool_calls", "stop"}},
    {EVENT_CONTEXT_COMPACTED, "step", {NULL}},
    {EVENT_WAVES_PLANNED, "step", {"waves"}},
    {EVENT_TOOL_STARTED, "call", {"tool", "arguments", "effect", "wave"}},
    {EVENT_WRITE_PROPOSED, "call", {"files"}},
    {EVENT_WRITE_DECIDED, NULL, {"decision", "reason", "hunks"}},
    {EVENT_CHECKPOINT_SAVED, "call", {"paths"}},
    {EVENT_WRITE_APPLIED, "call", {"files"}},
    {EVENT_WRITE_UNDONE, NULL, {"paths"}}, /* and write.redone */
    {EVENT_TOOL_FINISHED, "call", {"outcome", "result", "timeout", "failure", "denied", "artifact"}},
    {EVENT_LATE_SUPPRESSED, "call", {NULL}},
    {EVENT_REFLECTION, "step", {"text", "should_continue", "stub"}},
    {EVENT_WRITES_CLOSED, NULL, {NULL}},
    {EVENT_TURN_FINALIZED, NULL, {"citations"}},
    {EVENT_TURN_FINISHED, NULL, {"status", "text", "usage", "steps", "tool_calls"}},
};

struct divergence_entry {
    uint32_t index; /* line in the recording */
    bool seen;
    bool passed; /* skipped, because it cannot be repeated */
    bool memory; /* the turn had a memory: its messages contain one more */
    enum event_type type;
    int64_t seq;
};

#define NO_ENTRY (-1)

struct divergences {
    const struct recording *recording;
    const struct journal_reader *lines; /* of the recording */
    struct hash_map keys;               /* key → entry */
    struct hash_map counts;             /* of the run, to number its keys */
    struct divergence_entry *entries;
    size_t entry_count, entry_room;
    bool types[EVENT_TYPE_COUNT]; /* types to compare: all, or those in a handwritten file */
    char *app, *model;            /* that recorded it; NULL: unknown, or several models */
    int64_t open_turn;            /* the turn in which the recording ends; 0: none */
    int64_t until;                /* the last seq to compare; -1: all */
    int64_t run_turn;             /* the newest turn of the run */

    /* The run so far. */
    size_t seen, passed;    /* entries that happened, and entries that cannot happen */
    int64_t last_seq;       /* of the newest event, in the recording */
    struct hash_map calls;  /* turn and ask → its proposal's entry */
    struct hash_map newest; /* turn and call → its newest entry */
    int64_t newest_own;     /* the turn's own newest */
    int64_t furthest;       /* the one with the highest seq in the recording */
    bool memory;
    bool same_render;          /* the same Keyturn version and the same model: rendered prompts must be equal too */
    int64_t now_seq, now_turn; /* of the event being compared; 0 after the run */
    const char *now_call;      /* its call, in the scratch arena; NULL: none */

    struct divergence *list;
    size_t count, room;
    const char **notices; /* why events were skipped */
    size_t notice_count, notice_room;
    struct arena arena; /* holds the texts of both lists */
    struct arena scratch;
};

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* "provider/name as alias"; NULL if the event has no model. */
static char *model_text(struct arena *arena, const struct event_model_info *model)
{
    return model ? arena_printf(arena, "%s/%s as %s", model->provider ? model->provider : "",
                                model->name ? model->name : "", model->as ? model->as : "")
                 : NULL;
}

static int rule_of(enum event_type type)
{
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (rules[i].type == type)
            return (int)i;
    return -1;
}

/* The user's undos and redos. They may be recorded between turns, and older recordings have write.undone for both. */
static bool restores(const struct event *event)
{
    return event->type == EVENT_WRITE_UNDONE || event->type == EVENT_WRITE_REDONE;
}

/* The rule for this event, -1: it is not compared. A checkpoint without a call is one that an undo saved, maybe in
 * vain. */
static int rule_for(const struct event *event)
{
    if (event->type == EVENT_CHECKPOINT_SAVED && !event->checkpoint_saved.call)
        return -1;
    return rule_of(restores(event) ? EVENT_WRITE_UNDONE : event->type);
}

static const struct event_field *field_of(enum event_type type, const char *name)
{
    struct event_layout layout = event_layout(type);
    for (size_t i = 0; i < layout.count; i++)
        if (strcmp(layout.fields[i].name, name) == 0)
            return &layout.fields[i];
    BUG("%s has no field %s", event_type_name(type), name);
}

/* The subject of an event: the id of a call, or the number of a step. NULL if absent. */
static const char *about_text(struct arena *arena, const struct event *event, const char *name)
{
    const struct event_field *field = field_of(event->type, name);
    const char *at = (const char *)&event->session_started + field->offset;
    if (field->kind == EVENT_KIND_INT)
        return arena_printf(arena, "%" PRId64, *(const int64_t *)at);
    return *(const char *const *)at;
}

/* "3 tool.finished c4 0": turn, type, subject, and how many came before. */
static char *make_key(struct arena *arena, struct hash_map *counts, int64_t turn, const struct event *event, int rule)
{
    const char *about = rules[rule].about;
    const char *text = about ? about_text(arena, event, about) : "";
    char *base = arena_printf(arena, "%" PRId64 " %s %s", turn, event_type_name(rules[rule].type), text ? text : "");
    int64_t n = hash_map_get(counts, base, 0);
    hash_map_put(counts, base, n + 1);
    return arena_printf(arena, "%s %" PRId64, base, n);
}

/* Whether Keyturn made the recording: such a file is numbered and complete. */
static bool is_full(const struct journal_reader *lines, struct arena *arena)
{
    struct event event;
    size_t len;
    if (journal_count(lines) == 0)
        return false;
    const char *line = journal_line(lines, 0, &len);
    return event_decode(&event, arena, line, len, NULL) == 0 && event.seq >= 0;
}

static bool remembers(const struct event *event)
{
    return event->context_loaded.memory.count > 0;
}

/* Numbers the steps, because a handwritten recording may lack the numbers. */
static void count_step(struct event *event, int64_t *step)
{
    int64_t *own = event->type == EVENT_MODEL_RESPONDED ? &event->model_responded.step
                   : event->type == EVENT_WAVES_PLANNED ? &event->waves_planned.step
                   : event->type == EVENT_REFLECTION    ? &event->reflection.step
                                                        : NULL;
    if (!own)
        return;
    if (event->type == EVENT_MODEL_RESPONDED)
        *step = *own > 0 ? *own : *step + 1;
    if (*own <= 0)
        *own = *step;
}

struct divergences *divergences_new(const struct recording *recording)
{
    const struct journal_reader *lines = recording_reader(recording);
    struct divergences *d = xcalloc(1, sizeof(*d));
    struct hash_map counts = {0};
    int64_t turn = 0, step = 0;
    bool full = is_full(lines, &d->scratch), memory = false, other_rules = false;
    struct event event;
    d->recording = recording;
    d->lines = lines;
    d->until = -1;
    d->newest_own = d->furthest = NO_ENTRY;
    for (size_t i = 0; i < journal_count(lines); i++) {
        arena_reset(&d->scratch);
        if (journal_event(lines, i, &event, &d->scratch, NULL) < 0)
            continue; /* reported when the recording was opened */
        if (event.type == EVENT_SESSION_STARTED) {
            d->app = event.session_started.app ? arena_strdup(&d->arena, event.session_started.app) : NULL;
            d->model = model_text(&d->arena, event.session_started.model);
        }
        if (event.type == EVENT_MODEL_CHANGED)
            d->model = NULL;
        if (event.type == EVENT_TURN_STARTED) {
            turn++; /* a run counts its turns from 1, whatever their numbers in the file */
            step = 0;
            memory = false;
            d->open_turn = turn;
        }
        if (event.type == EVENT_TURN_FINISHED || event.type == EVENT_SESSION_ENDED)
            d->open_turn = 0;
        if (event.type == EVENT_CONTEXT_LOADED)
            memory = remembers(&event);
        count_step(&event, &step);
        full |= event.type == EVENT_TURN_PREPARED;
        int rule = rule_for(&event);
        if (event.type == EVENT_CONTEXT_COMPACTED && event.context_compacted.rules != COMPACTION_RULES) {
            other_rules = true;
            continue;
        }
        if (rule < 0 || turn == 0)
            continue;
        d->types[rules[rule].type] = true;
        GROW(d->entries, d->entry_count, d->entry_room);
        d->entries[d->entry_count] =
            (struct divergence_entry){.index = (uint32_t)i, .seq = event.seq, .type = event.type, .memory = memory};
        hash_map_put(&d->keys, make_key(&d->scratch, &counts, turn, &event, rule), (int64_t)d->entry_count);
        d->entry_count++;
    }
    for (size_t i = 0; full && i < COUNT_OF(rules); i++)
        d->types[rules[i].type] = true;
    if (other_rules) /* they choose other steps to compact before */
        d->types[EVENT_CONTEXT_COMPACTED] = false;
    hash_map_release(&counts);
    return d;
}

void divergences_until(struct divergences *d, int64_t seq)
{
    d->until = seq;
    while (d->entry_count && d->entries[d->entry_count - 1].seq > seq)
        d->entry_count--;
}

bool divergences_reached(const struct divergences *d)
{
    return d->until >= 0 && d->seen + d->passed >= d->entry_count;
}

void divergences_free(struct divergences *d)
{
    if (!d)
        return;
    hash_map_release(&d->keys);
    hash_map_release(&d->counts);
    hash_map_release(&d->calls);
    hash_map_release(&d->newest);
    free(d->entries);
    free(d->list);
    free(d->notices);
    arena_release(&d->arena);
    arena_release(&d->scratch);
    free(d);
}

/* The text from there on, as much as fits on a line. */
static const char *shown(struct divergences *d, const char *text, size_t from)
{
    CLEANUP(strbuf) struct strbuf out = STRBUF_INIT;
    if (!text)
        return "nothing";
    size_t len = strlen(text) - from;
    size_t fits = utf8_prefix(text + from, len, SHOWN_CHARS);
    if (from > 0)
        strbuf_addstr(&out, "...");
    utf8_sanitize(&out, text + from, fits, UTF8_KEEP_NOTHING);
    if (fits < len)
        strbuf_addstr(&out, "...");
    return arena_memdup0(&d->arena, out.buf, out.len);
}

/* Where the excerpts of two texts begin: at the start, or shortly before the first difference if it would not be
 * visible otherwise. Both texts are equal up to there, so the position is between two characters of both. */
static size_t shown_from(const char *a, const char *b)
{
    size_t same = 0;
    while (a && b && a[same] && a[same] == b[same])
        same++;
    if (same < SHOWN_CHARS / 2)
        return 0;
    same -= SHOWN_LEAD;
    while (same > 0 && ((unsigned char)a[same] & 0xC0) == 0x80)
        same--;
    return same;
}

static void add(struct divergences *d, int64_t seq, const char *type, const char *field, const char *recorded,
                const char *got)
{
    size_t from = shown_from(recorded, got);
    if (d->count >= KEPT_MAX)
        return;
    GROW(d->list, d->count, d->room);
    d->list[d->count] = (struct divergence){.seq = seq,
                                            .number = d->count,
                                            .unrecorded = !recorded && strcmp(field, WHOLE_EVENT) == 0,
                                            .type = arena_strdup(&d->arena, type),
                                            .field = arena_strdup(&d->arena, field),
                                            .recorded = shown(d, recorded, from),
                                            .got = shown(d, got, from),
                                            .got_seq = d->now_seq,
                                            .got_turn = d->now_turn,
                                            .call = d->now_call ? arena_strdup(&d->arena, d->now_call) : NULL};
    d->count++;
}

/* Older versions appended the list of sources to the final text. */
static bool differs_by_sources(const struct event *was, const struct event *is, const struct event_field *field)
{
    static const char list[] = "\n\nSources:\n- ";
    if (was->type != EVENT_TURN_FINISHED || strcmp(field->name, "text") != 0)
        return false;
    const char *recorded = was->turn_finished.text, *got = is->turn_finished.text;
    size_t len = got ? strlen(got) : 0;
    return recorded && got && strncmp(recorded, got, len) == 0 && strncmp(recorded + len, list, sizeof(list) - 1) == 0;
}

static void compare_field(struct divergences *d, const struct divergence_entry *entry, const struct event *was,
                          const struct event *is, const struct event_field *field)
{
    struct difference first;
    if (differs_by_sources(was, is, field))
        return;
    if (strcmp(field->name, "prompt_render_hash") == 0 && !d->same_render)
        return;
    if (event_field_differs(&d->scratch, field, (struct compared){was, entry->memory}, (struct compared){is, d->memory},
                            &first))
        add(d, was->seq, was->type_name, first.path, first.recorded, first.got);
}

/* ---- order ---- */

/* The call of an event, "" for the turn's own events. A decision has only the id of its question. */
static const char *call_of(struct divergences *d, const struct event *event, int rule)
{
    const char *about = rules[rule].about;
    struct event was;
    if (about && strcmp(about, "call") == 0)
        return about_text(&d->scratch, event, about);
    if (event->type != EVENT_WRITE_DECIDED || !event->write_decided.ask)
        return "";
    int64_t proposal = hash_map_get(
        &d->calls, arena_printf(&d->scratch, "%" PRId64 " %s", event->turn, event->write_decided.ask), NO_ENTRY);
    if (proposal == NO_ENTRY || journal_event(d->lines, d->entries[proposal].index, &was, &d->scratch, NULL) < 0)
        return NULL;
    return was.write_proposed.call;
}

static void misplaced(struct divergences *d, int64_t at, int64_t behind)
{
    const struct divergence_entry *entry = &d->entries[at], *other = &d->entries[behind];
    CLEANUP(strbuf) struct strbuf recorded = STRBUF_INIT;
    strbuf_addf(&recorded, "before %s (seq %" PRId64 ")", event_type_name(other->type), other->seq);
    add(d, entry->seq, event_type_name(entry->type), "order", recorded.buf, "after it");
}

/* Checks that the event was recorded after all events that it must follow. */
static void compare_order(struct divergences *d, const struct event *event, int rule, int64_t at)
{
    const char *call = call_of(d, event, rule);
    bool own = call && !*call, late = event->type == EVENT_LATE_SUPPRESSED;
    int64_t behind = own ? d->furthest : late ? NO_ENTRY : d->newest_own;
    if (event->type == EVENT_WRITE_PROPOSED && event->write_proposed.ask)
        hash_map_put(&d->calls, arena_printf(&d->scratch, "%" PRId64 " %s", event->turn, event->write_proposed.ask),
                     at);
    if (call && *call) {
        char *key = arena_printf(&d->scratch, "%" PRId64 " %s", event->turn, call);
        int64_t before = hash_map_get(&d->newest, key, NO_ENTRY);
        behind = before > behind ? before : behind;
        hash_map_put(&d->newest, key, at > before ? at : before);
    }
    if (at < behind)
        misplaced(d, at, behind);
    if (own && at > d->newest_own)
        d->newest_own = at;
    if (!late && at > d->furthest)
        d->furthest = at;
}

/* ---- what cannot be repeated ---- */

/* Skips the recorded events of a call's write, up to the call's end. */
static void pass_write(struct divergences *d, size_t proposal, const char *call)
{
    for (size_t i = proposal + 1; i < d->entry_count && d->entries[i].type != EVENT_TURN_FINISHED; i++) {
        struct divergence_entry *entry = &d->entries[i];
        struct event was;
        if ((entry->type != EVENT_CHECKPOINT_SAVED && entry->type != EVENT_WRITE_APPLIED &&
             entry->type != EVENT_TOOL_FINISHED) ||
            journal_event(d->lines, entry->index, &was, &d->scratch, NULL) < 0 ||
            !same_text(call, about_text(&d->scratch, &was, "call")))
            continue;
        if (entry->type == EVENT_TOOL_FINISHED)
            return;
        entry->passed = true;
        d->passed++;
    }
}

/* If the recording lacks the files of a write, the run asks without them. That is no fault of the run: it becomes a
 * notice, not a divergence. */
static bool pass_over(struct divergences *d, size_t at, const struct event *event)
{
    const char *call = event->type == EVENT_WRITE_PROPOSED ? event->write_proposed.call : NULL;
    const char *lost = call && !event->write_proposed.files.count ? recording_lost(d->recording, call) : NULL;
    if (!lost)
        return false;
    GROW(d->notices, d->notice_count, d->notice_room);
    d->notices[d->notice_count++] = arena_printf(&d->arena, "cannot repeat the write of %s (seq %" PRId64 "): %s",
                                                 shown(d, call, 0), d->entries[at].seq, lost);
    pass_write(d, at, call);
    return true;
}

void divergences_see(struct divergences *d, const struct event *event)
{
    int rule = rule_for(event);
    struct event was;
    if (event->turn > d->run_turn)
        d->run_turn = event->turn;
    int64_t turn = restores(event) && !event->turn ? d->run_turn : event->turn;
    if (event->type == EVENT_SESSION_STARTED)
        d->same_render = same_text(d->app, event->session_started.app) &&
                         same_text(d->model, model_text(&d->scratch, event->session_started.model));
    if (rule < 0 || turn == 0 || !d->types[rules[rule].type] || divergences_reached(d))
        return;
    if (event->type == EVENT_CONTEXT_LOADED)
        d->memory = remembers(event);
    arena_reset(&d->scratch);
    d->now_seq = event->seq;
    d->now_turn = turn;
    d->now_call = call_of(d, event, rule);
    if (d->now_call && !*d->now_call)
        d->now_call = NULL;
    int64_t found = hash_map_get(&d->keys, make_key(&d->scratch, &d->counts, turn, event, rule), NO_ENTRY);
    if (found == NO_ENTRY) {
        CLEANUP(strbuf) struct strbuf summary = STRBUF_INIT;
        /* A recording that ends in a crash does not show what would have followed. */
        if (d->open_turn && turn >= d->open_turn)
            return;
        event_words(&summary, WORDS_ROW, NULL, event);
        add(d, d->last_seq, event_type_name(event->type), WHOLE_EVENT, NULL, summary.len ? summary.buf : "it happened");
        return;
    }
    if ((size_t)found >= d->entry_count)
        return; /* after the last seq to compare */
    struct divergence_entry *entry = &d->entries[found];
    if (entry->passed)
        return;
    if (!entry->seen)
        d->seen++;
    entry->seen = true;
    d->last_seq = entry->seq;
    if (!restores(event)) /* a run repeats them before the next request */
        compare_order(d, event, rule, found);
    if (pass_over(d, (size_t)found, event) || journal_event(d->lines, entry->index, &was, &d->scratch, NULL) < 0)
        return;
    for (size_t i = 0; i < COUNT_OF(rules[rule].fields) && rules[rule].fields[i]; i++)
        compare_field(d, entry, &was, event, field_of(event->type, rules[rule].fields[i]));
}

static int by_seq(const void *a, const void *b)
{
    const struct divergence *x = a, *y = b;
    if (x->seq != y->seq)
        return x->seq > y->seq ? 1 : -1;
    /* Unrecorded events sort after recorded ones. */
    if (x->unrecorded != y->unrecorded)
        return x->unrecorded ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

void divergences_end(struct divergences *d)
{
    struct event was;
    d->now_seq = d->now_turn = 0;
    d->now_call = NULL;
    for (size_t i = 0; i < d->entry_count; i++) {
        CLEANUP(strbuf) struct strbuf summary = STRBUF_INIT;
        if (d->entries[i].seen || d->entries[i].passed)
            continue;
        arena_reset(&d->scratch);
        if (journal_event(d->lines, d->entries[i].index, &was, &d->scratch, NULL) < 0)
            continue;
        event_words(&summary, WORDS_ROW, NULL, &was);
        add(d, was.seq, was.type_name, WHOLE_EVENT, summary.len ? summary.buf : "it happened", NULL);
    }
    if (d->count)
        qsort(d->list, d->count, sizeof(*d->list), by_seq);
}

size_t divergences_count(const struct divergences *d)
{
    return d->count;
}

const struct divergence *divergences_at(const struct divergences *d, size_t index)
{
    return index < d->count ? &d->list[index] : NULL;
}

const struct divergence *divergences_of_event(const struct divergences *d, int64_t seq, size_t *index)
{
    for (; *index < d->count; ++*index)
        if (d->list[*index].got_seq == seq)
            return &d->list[(*index)++];
    return NULL;
}

const struct divergence *divergences_of_call(const struct divergences *d, int64_t turn, const char *call, size_t *index)
{
    for (; *index < d->count; ++*index) {
        const struct divergence *divergence = &d->list[*index];
        if (divergence->call && divergence->got_turn == turn && strcmp(divergence->call, call) == 0)
            return &d->list[(*index)++];
    }
    return NULL;
}

size_t divergences_compared(const struct divergences *d)
{
    return d->seen;
}

const char *divergences_notice(const struct divergences *d, size_t index)
{
    return index < d->notice_count ? d->notices[index] : NULL;
}

bool divergences_cut_short(const struct divergences *d)
{
    return d->open_turn > 0;
}

void divergence_write(struct strbuf *out, const struct divergence *divergence)
{
    strbuf_addf(out, "diverged at seq %" PRId64 ": %s.%s: recorded %s, got %s", divergence->seq, divergence->type,
                divergence->field, divergence->recorded, divergence->got);
}
