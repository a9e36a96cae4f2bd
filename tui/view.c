/* Rows hold seqs; a seq says which line, because lines are numbered 1, 2, 3 … That is only a guess for a file from which
 * somebody took lines by hand: then the line is looked for, by halves, since numbers ascend. */

#include "view.h"
#include "base/mem.h"

static bool decode(const struct view *view, size_t row, struct event *event, struct arena *arena)
{
    return view->lines && row < journal_count(view->lines) && journal_event(view->lines, row, event, arena, NULL) == 0;
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
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        arena_reset(&arena);
        if (decode(view, middle, &event, &arena) && event.seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    arena_reset(&arena);
    return low < end && decode(view, low, &event, &arena) && event.seq == seq ? low : SIZE_MAX;
}

size_t view_find_row(const struct view *view, int64_t seq)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct event event;
    if (seq < 1)
        return SIZE_MAX;
    if (decode(view, (size_t)seq - 1, &event, &arena) && event.seq == seq)
        return (size_t)seq - 1;
    return find_by_halves(view, seq);
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
