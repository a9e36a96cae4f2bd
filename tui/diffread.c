/* A recording is a file that anybody may have written, so nothing is believed: line numbers are counted from the head
 * of the hunk on and stop at INT_MAX, and the counts in the head are not used at all. Within a hunk every line begins
 * with its sign, so a line that begins with "@@" can only be the next head. */

#include "diffread.h"
#include "base/mem.h"
#include <limits.h>
#include <string.h>

struct reading {
    struct diff *diff;
    size_t hunk_room, line_room;
    int old_no, new_no; /* of the next line */
};

static int read_number(const char **at, const char *end)
{
    long value = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        if (value < INT_MAX / 10)
            value = value * 10 + (**at - '0');
        ++*at;
    }
    return (int)value;
}

static int read_range(const char **at, const char *end, char sign)
{
    while (*at < end && **at != sign)
        ++*at;
    if (*at < end)
        ++*at;
    int first = read_number(at, end);
    if (*at < end && **at == ',') {
        ++*at;
        read_number(at, end);
    }
    return first;
}

/* "@@ -1,4 +1,5 @@ int main(void)" */
static void read_head(struct reading *reading, const char *line, size_t len)
{
    struct diff *diff = reading->diff;
    const char *at = line + 2, *end = line + len;
    int old_start = read_range(&at, end, '-');
    int new_start = read_range(&at, end, '+');
    const char *marks = memmem(at, (size_t)(end - at), "@@", 2);
    at = marks ? marks + 2 : end;
    if (at < end && *at == ' ')
        at++;
    GROW(diff->hunks, diff->hunk_count, reading->hunk_room);
    diff->hunks[diff->hunk_count++] = (struct diff_hunk){
        .old_start = old_start,
        .new_start = new_start,
        .heading = xmemdup0(at, (size_t)(end - at)),
        .first_line = diff->line_count,
    };
    reading->old_no = old_start ? old_start : 1;
    reading->new_no = new_start ? new_start : 1;
}

static int next_number(int *number)
{
    int now = *number;
    if (*number < INT_MAX)
        ++*number;
    return now;
}

static void read_line(struct reading *reading, const char *line, size_t len)
{
    struct diff *diff = reading->diff;
    struct diff_hunk *hunk = &diff->hunks[diff->hunk_count - 1];
    char origin = line[0];
    if (origin == '\\') {
        if (hunk->line_count)
            diff->lines[diff->line_count - 1].no_newline = true;
        return;
    }
    if (origin != ' ' && origin != '+' && origin != '-')
        return;
    GROW(diff->lines, diff->line_count, reading->line_room);
    diff->lines[diff->line_count++] = (struct diff_line){
        .origin = origin,
        .old_no = origin == '+' ? 0 : next_number(&reading->old_no),
        .new_no = origin == '-' ? 0 : next_number(&reading->new_no),
        .text = line + 1,
        .len = len - 1,
    };
    hunk->line_count++;
    hunk->old_count += origin != '+';
    hunk->new_count += origin != '-';
    hunk->added += origin == '+';
    hunk->removed += origin == '-';
}

static bool begins(const char *line, size_t len, const char *with)
{
    return len >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

struct diff *diff_read(const char *text, size_t len)
{
    struct reading reading = {.diff = xcalloc(1, sizeof(struct diff))};
    struct diff *diff = reading.diff;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((newline ? newline : end) - at);
        if (line >= 2 && memcmp(at, "@@", 2) == 0)
            read_head(&reading, at, line);
        else if (begins(at, line, "\\ Too large to be compared"))
            diff->cut = diff->estimate = true;
        else if (begins(at, line, "\\ Too large to be shown"))
            diff->cut = true;
        else if (line && diff->hunk_count)
            read_line(&reading, at, line);
        at += line + (newline != NULL);
    }
    for (size_t i = 0; i < diff->hunk_count; i++) {
        diff->added += diff->hunks[i].added;
        diff->removed += diff->hunks[i].removed;
    }
    return diff;
}
