/* The player: folds a recording at any position. A position is a number of events; the session there is the fold of
 * that many lines.
 *
 * Going forward folds. Going back starts from a keyframe: a copy of the session at an earlier position. The cost
 * depends on where the keyframes are. Seen from the cursor they are at distances of about 16, 256, 4,096 and 65,536
 * events, one in each range. A seek creates them when it passes such a position. So a step back usually refolds a few
 * dozen events, and sometimes a few thousand. A jump back refolds at most a sixteenth of the way. The number of copies
 * stays small, however long the recording is.
 *
 * Marks (steps, writes, errors, gates held) are found by reading the file once from its beginning, in small pieces. A
 * jump that needs a later mark reads ahead, but only up to JUMP_LINES, because the file is not trusted. */

#include "player.h"
#include "base/mem.h"
#include <inttypes.h>
#include <string.h>

#define RANGES      6
#define RANGE_RATIO 16
#define PLAY_STRIDE 2048
#define AT_ONCE     ((size_t)2 << 20) /* bytes of lines read between two frames; a single line may be longer */
#define JUMP_LINES  16384             /* most lines that a jump reads ahead */

struct keyframe {
    size_t position;
    struct session session;
};

struct places {
    size_t *items; /* ascending positions */
    size_t count, room;
};
enum { PLACE_STEP, PLACE_WRITE, PLACE_ERROR, PLACE_HELD, PLACE_KINDS };

struct index {
    struct places places[PLACE_KINDS];
    size_t scanned;
    bool done;
    bool asked; /* a model.requested without an answer so far */
    struct arena arena;
    unsigned char *columns; /* result of the last player_marks */
    size_t column_count, column_scanned;
    char *fault; /* error of the first broken line; NULL: none */
    size_t end;  /* index of the broken line, which is the last position */
};

struct player {
    struct journal_reader *reader;
    struct session session;
    size_t position;
    size_t target; /* of the current seek */
    struct keyframe frames[RANGES + 1];
    size_t frame_count;
    struct session spare; /* the keyframe dropped last; the next one reuses its memory */
    struct arena arena;
    struct index *index; /* a separate allocation, because a const player may extend it while searching */
};

struct player *player_open(const char *path, struct err *err)
{
    struct journal_reader *reader = journal_open(path, err);
    if (!reader)
        return NULL;
    struct player *player = xcalloc(1, sizeof(*player));
    player->reader = reader;
    session_init(&player->session);
    session_init_like(&player->spare, &player->session);
    player->index = xcalloc(1, sizeof(*player->index));
    return player;
}

void player_free(struct player *player)
{
    if (!player)
        return;
    for (size_t i = 0; i < player->frame_count; i++)
        session_release(&player->frames[i].session);
    for (int kind = 0; kind < PLACE_KINDS; kind++)
        free(player->index->places[kind].items);
    arena_release(&player->index->arena);
    free(player->index->columns);
    free(player->index->fault);
    free(player->index);
    session_release(&player->session);
    session_release(&player->spare);
    arena_release(&player->arena);
    journal_reader_free(player->reader);
    free(player);
}

const struct journal_reader *player_lines(const struct player *player)
{
    return player->reader;
}

const struct session *player_session(const struct player *player)
{
    return &player->session;
}

size_t player_position(const struct player *player)
{
    return player->position;
}

size_t player_count(const struct player *player)
{
    return player->index->fault ? player->index->end : journal_count(player->reader);
}

const char *player_fault(const struct player *player)
{
    return player->index->fault;
}

static void end_at(struct index *index, size_t line, const struct err *err)
{
    if (index->fault && index->end <= line)
        return;
    free(index->fault);
    index->fault = xasprintf("line %ld is broken: %s", err->line, err->text);
    index->end = line;
    index->done = true;
}

size_t player_refresh(struct player *player)
{
    size_t before = journal_count(player->reader);
    journal_refresh(player->reader);
    size_t after = journal_count(player->reader);
    if (player->index->fault || after <= before)
        return 0;
    player->index->done = false;
    return after - before;
}

/* ---- keyframes ---- */

/* 0 for less than 16 events away, 1 for less than 256 … */
static int range_of(size_t distance)
{
    int range = 0;
    while (distance >= RANGE_RATIO && range < RANGES - 1) {
        distance /= RANGE_RATIO;
        range++;
    }
    return range;
}

static void drop_frame(struct player *player, size_t at)
{
    session_release(&player->spare);
    player->spare = player->frames[at].session;
    memmove(&player->frames[at], &player->frames[at + 1], (player->frame_count - at - 1) * sizeof(player->frames[0]));
    player->frame_count--;
}

/* Of the keyframes in one range the farthest stays, because it stays useful longest while the cursor goes back.
 * Keyframes after the cursor are dropped except one, which helps when the user goes back and forth. */
static void thin_frames(struct player *player, size_t target)
{
    for (size_t i = player->frame_count; i-- > 0;) {
        size_t at = player->frames[i].position;
        bool ahead = at > target;
        for (size_t k = 0; k < i; k++) {
            size_t other = player->frames[k].position;
            if (ahead ? other > target : other <= target && range_of(target - at) == range_of(target - other)) {
                drop_frame(player, i);
                break;
            }
        }
    }
}

/* Keyframes are in ascending order of position. */
static void keep_frame(struct player *player)
{
    size_t at = player->frame_count;
    while (at > 0 && player->frames[at - 1].position >= player->position)
        at--;
    if (at < player->frame_count && player->frames[at].position == player->position)
        return;
    thin_frames(player, player->target);
    if (player->frame_count == RANGES + 1)
        drop_frame(player, player->frame_count - 1);
    at = player->frame_count;
    while (at > 0 && player->frames[at - 1].position > player->position)
        at--;
    memmove(&player->frames[at + 1], &player->frames[at], (player->frame_count - at) * sizeof(player->frames[0]));
    player->frames[at].position = player->position;
    player->frames[at].session = player->spare;
    session_init_like(&player->spare, &player->session);
    session_assign(&player->frames[at].session, &player->session);
    player->frame_count++;
}

/* Whether a keyframe belongs at this distance from the target. Playing moves from event to event and is always close to
 * the target, so then a keyframe is made every so many events. */
static bool is_frame_place(const struct player *player)
{
    size_t distance = player->target - player->position;
    if (distance < PLAY_STRIDE && player->position % PLAY_STRIDE == 0 && player->position)
        return true;
    size_t place = RANGE_RATIO;
    for (int range = 0; range < RANGES - 1; range++, place *= RANGE_RATIO)
        if (distance == place)
            return true;
    return false;
}

/* Restarts from the nearest keyframe at or before `position`. */
static void go_back(struct player *player, size_t position)
{
    size_t at = player->frame_count;
    while (at > 0 && player->frames[at - 1].position > position)
        at--;
    if (at > 0) {
        session_assign(&player->session, &player->frames[at - 1].session);
        player->position = player->frames[at - 1].position;
    } else {
        struct session begun = player->session;
        session_init_like(&player->session, &begun);
        session_release(&begun);
        player->position = 0;
    }
}

/* ---- seeking ---- */

static bool fold_next(struct player *player)
{
    struct err err = ERR_INIT;
    struct event event;
    arena_reset(&player->arena);
    if (journal_event(player->reader, player->position, &event, &player->arena, &err)) {
        end_at(player->index, player->position, &err);
        return false;
    }
    session_apply(&player->session, &event);
    player->position++;
    return true;
}

static size_t line_bytes(const struct player *player, size_t index)
{
    size_t len;
    journal_line(player->reader, index, &len);
    return len;
}

bool player_seek(struct player *player, size_t position, size_t budget)
{
    if (position > player_count(player))
        position = player_count(player);
    player->target = position;
    if (position < player->position)
        go_back(player, position);
    for (size_t folded = 0, bytes = 0; player->position < position; folded++) {
        if (budget && (folded >= budget || bytes > AT_ONCE))
            return false;
        bytes += line_bytes(player, player->position);
        if (is_frame_place(player))
            keep_frame(player);
        if (!fold_next(player))
            break;
    }
    thin_frames(player, player->position);
    return true;
}

/* ---- marks ---- */

static void add_place(struct index *index, int kind, size_t position)
{
    struct places *places = &index->places[kind];
    GROW(places->items, places->count, places->room);
    places->items[places->count++] = position;
}

static bool is_error(const struct event *event, struct arena *arena)
{
    const char *text = event->type == EVENT_TOOL_FINISHED   ? event->tool_finished.outcome
                       : event->type == EVENT_TURN_FINISHED ? event->turn_finished.status
                                                            : NULL;
    if (event->type == EVENT_MODEL_FAILED ||
        (event->type == EVENT_TOOL_FINISHED && call_result_end(event->tool_finished.result, arena)))
        return true;
    return text && (strcmp(text, "failure") == 0 || strcmp(text, "timeout") == 0 || strcmp(text, "failed") == 0);
}

static void mark_event(struct index *index, const struct event *event, size_t position)
{
    /* A step begins with model.requested. If the recording has only the answer, the step begins there. */
    if (event->type == EVENT_MODEL_REQUESTED || (event->type == EVENT_MODEL_RESPONDED && !index->asked))
        add_place(index, PLACE_STEP, position);
    if (event->type == EVENT_MODEL_REQUESTED || event->type == EVENT_MODEL_RESPONDED)
        index->asked = event->type == EVENT_MODEL_REQUESTED;
    if (event->type == EVENT_WRITE_PROPOSED)
        add_place(index, PLACE_WRITE, position);
    if (event->type == EVENT_HELD)
        add_place(index, PLACE_HELD, position);
    if (is_error(event, &index->arena))
        add_place(index, PLACE_ERROR, position);
}

static void scan(const struct player *player, size_t budget)
{
    struct index *index = player->index;
    size_t count = player_count(player), bytes = 0;
    while (!index->done && budget-- > 0 && bytes <= AT_ONCE) {
        struct event event;
        struct err err = ERR_INIT;
        if (index->scanned == count) {
            index->done = true;
            break;
        }
        bytes += line_bytes(player, index->scanned);
        arena_reset(&index->arena);
        if (journal_event(player->reader, index->scanned, &event, &index->arena, &err)) {
            end_at(index, index->scanned, &err);
            break;
        }
        mark_event(index, &event, ++index->scanned);
    }
}

bool player_scan(struct player *player, size_t budget)
{
    scan(player, budget);
    return player->index->done;
}

/* The first mark after `position`, or the last one before it; SIZE_MAX if no known mark fits. */
static size_t find_place(const struct places *places, size_t position, bool back)
{
    size_t low = 0, high = places->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (back ? places->items[middle] < position : places->items[middle] <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (back)
        return low ? places->items[low - 1] : SIZE_MAX;
    return low < places->count ? places->items[low] : SIZE_MAX;
}

static size_t next_place(const struct player *player, int kind, bool back)
{
    const struct places *places = &player->index->places[kind];
    size_t limit = player->index->scanned + JUMP_LINES;
    if (back && !player->index->done && player->index->scanned < player->position)
        scan(player, player->position - player->index->scanned < JUMP_LINES ? player->position - player->index->scanned
                                                                            : JUMP_LINES);
    size_t found = find_place(places, player->position, back);
    while (found == SIZE_MAX && !back && !player->index->done && player->index->scanned < limit) {
        size_t before = player->index->scanned;
        scan(player, 1024);
        if (player->index->scanned < before + 1024)
            limit = 0; /* long lines: stop reading ahead */
        found = find_place(places, player->position, false);
    }
    return found;
}

size_t player_next_step(const struct player *player, bool back)
{
    return next_place(player, PLACE_STEP, back);
}

size_t player_next_write(const struct player *player, bool back)
{
    return next_place(player, PLACE_WRITE, back);
}

size_t player_next_error(const struct player *player, bool back)
{
    return next_place(player, PLACE_ERROR, back);
}

size_t player_at_time(const struct player *player, int64_t t)
{
    /* Times ascend in recordings that Keyturn wrote. In other files the result is some valid position. */
    size_t low = 0, high = player_count(player);
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct event event;
        arena_reset(&arena);
        if (journal_event(player->reader, middle, &event, &arena, NULL) == 0 && event.t <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void player_marks(const struct player *player, size_t columns, unsigned char *out)
{
    static const unsigned char bits[PLACE_KINDS] = {[PLACE_STEP] = PLAYER_STEP,
                                                    [PLACE_WRITE] = PLAYER_WRITE,
                                                    [PLACE_ERROR] = PLAYER_ERROR,
                                                    [PLACE_HELD] = PLAYER_HELD};
    struct index *index = player->index;
    size_t count = player_count(player);
    if (index->column_count != columns || index->column_scanned != index->scanned) {
        index->columns = xreallocarray(index->columns, columns + 1, 1);
        memset(index->columns, 0, columns);
        for (int kind = 0; kind < PLACE_KINDS && columns && count; kind++)
            for (size_t i = 0; i < index->places[kind].count; i++)
                index->columns[(index->places[kind].items[i] - 1) * columns / count] |= bits[kind];
        index->column_count = columns;
        index->column_scanned = index->scanned;
    }
    memcpy(out, index->columns, columns);
}
