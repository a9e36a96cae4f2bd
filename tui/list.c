/* Every function is O(1) in the number of rows. `top` moves only as far as the cursor makes it, so that the screen does
 * not jump, and nothing is shown beyond the last row while there are rows above the first. */

#include "list.h"

#define SIDE_STEP 8
#define SIDE_MOST 100000

void list_init(struct list *list, bool follow)
{
    *list = (struct list){.follow = follow, .follows = follow};
}

static size_t page(int height)
{
    return height > 0 ? (size_t)height : 1;
}

/* The first row when the last one is just in sight. */
static size_t last_top(const struct list *list, int height)
{
    return list->count > page(height) ? list->count - page(height) : 0;
}

static void keep_in_sight(struct list *list, int height)
{
    size_t rows = page(height);
    if (list->cursor < list->top)
        list->top = list->cursor;
    else if (list->cursor - list->top >= rows)
        list->top = list->cursor - rows + 1;
    if (list->top > last_top(list, height))
        list->top = last_top(list, height);
}

void list_update(struct list *list, size_t count, int height)
{
    list->count = count;
    if (list->follow || list->cursor >= count)
        list->cursor = count ? count - 1 : 0;
    keep_in_sight(list, height);
}

void list_select(struct list *list, size_t row, int height)
{
    size_t last = list->count ? list->count - 1 : 0;
    list->cursor = row < last ? row : last;
    list->follow = list->follows && list->cursor == last;
    keep_in_sight(list, height);
}

/* A page leaves one row of the last one in sight, and moves what is shown as far as the cursor. */
static void turn_page(struct list *list, bool down, int height)
{
    size_t by = page(height) > 1 ? page(height) - 1 : 1;
    size_t last = list->count ? list->count - 1 : 0;
    if (down) {
        list->top += by < last - list->top ? by : last - list->top;
        list_select(list, by < last - list->cursor ? list->cursor + by : last, height);
    } else {
        list->top -= by < list->top ? by : list->top;
        list_select(list, list->cursor - (by < list->cursor ? by : list->cursor), height);
    }
}

bool list_action(struct list *list, enum action action, int height)
{
    struct list before = *list;
    switch (action) {
    case ACTION_UP:
        list_select(list, list->cursor ? list->cursor - 1 : 0, height);
        break;
    case ACTION_DOWN:
        list_select(list, list->cursor + 1, height);
        break;
    case ACTION_PAGE_UP:
        turn_page(list, false, height);
        break;
    case ACTION_PAGE_DOWN:
        turn_page(list, true, height);
        break;
    case ACTION_HOME:
        list_select(list, 0, height);
        list->left = 0;
        break;
    case ACTION_END:
        list_select(list, list->count, height);
        break;
    case ACTION_LEFT:
        list->left = list->left > SIDE_STEP ? list->left - SIDE_STEP : 0;
        break;
    case ACTION_RIGHT:
        if (list->left < SIDE_MOST)
            list->left += SIDE_STEP;
        break;
    default:
        return false;
    }
    return list->cursor != before.cursor || list->top != before.top || list->left != before.left ||
           list->follow != before.follow;
}

void list_settle(struct list *list, size_t count, int height)
{
    list->count = count;
    if (list->follow || list->top > last_top(list, height))
        list->top = last_top(list, height);
    list->cursor = list->top;
}

bool list_scroll(struct list *list, enum action action, int height)
{
    size_t by = page(height) > 1 ? page(height) - 1 : 1;
    switch (action) {
    case ACTION_UP:
        list->top -= list->top > 0;
        break;
    case ACTION_DOWN:
        list->top++;
        break;
    case ACTION_PAGE_UP:
        list->top -= by < list->top ? by : list->top;
        break;
    case ACTION_PAGE_DOWN:
        list->top += by;
        break;
    case ACTION_HOME:
        list->top = 0;
        list->left = 0;
        break;
    case ACTION_END:
        list->top = list->count;
        break;
    case ACTION_LEFT:
    case ACTION_RIGHT:
        list_action(list, action, height);
        return true;
    default:
        return false;
    }
    /* Whoever is at the end wants to see what comes. */
    list->follow = list->follows && list->top >= last_top(list, height);
    list_settle(list, list->count, height);
    return true;
}

void list_show(struct list *list, size_t line, int height)
{
    list->follow = false;
    if (line < list->top || line - list->top >= page(height))
        list->top = line;
    list_settle(list, list->count, height);
}

void list_drop(struct list *list, size_t rows)
{
    list->top -= rows < list->top ? rows : list->top;
    list->cursor -= rows < list->cursor ? rows : list->cursor;
    list->count -= rows < list->count ? rows : list->count;
}
