/* Filters a list and searches it, a piece at a time.
 *
 * Rows that may still change (a call that runs, an answer that comes in) are asked again when the session has changed:
 * what was found among them is forgotten and found anew. There are few of them at any time, a step's at most. */

#include "sift.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "text.h"
#include "view.h"

#define PIECE       64 /* rows between two looks at how much was read */
#define PIECE_BYTES (4u << 20)

void sift_init(struct sift *sift)
{
    *sift = (struct sift){0};
}

void sift_release(struct sift *sift)
{
    filter_release(&sift->filter);
    filter_release(&sift->search.wanted);
    matches_release(&sift->matches);
}

/* ---- the filter ---- */

struct asked {
    const struct sift_rows *rows;
    const struct filter *filter;
    size_t bytes;
};

static bool row_fits(size_t row, void *data)
{
    struct asked *asked = data;
    return asked->rows->fits(asked->rows, asked->filter, row, &asked->bytes);
}

void sift_begin(struct sift *sift)
{
    sift->filtered = sift->filter.count > 0;
    sift->working = false;
    matches_reset(&sift->matches);
    sift_search_stop(sift);
}

static void forget(struct sift *sift, const struct sift_rows *rows)
{
    if (sift->of != rows->of) {
        matches_reset(&sift->matches);
        sift_search_stop(sift);
    } else if (sift->state != rows->state) {
        matches_cut(&sift->matches, sift->settled < rows->settled ? sift->settled : rows->settled);
    }
    matches_cut(&sift->matches, rows->total);
    sift->of = rows->of;
    sift->state = rows->state;
    sift->settled = rows->settled;
}

bool sift_look(struct sift *sift, const struct sift_rows *rows, size_t most)
{
    struct asked asked = {rows, &sift->filter, 0};
    forget(sift, rows);
    sift->working = sift->filtered && sift->matches.scanned < rows->total;
    /* Long rows count for what they are: pieces are bounded in bytes too. */
    while (sift->working && most && asked.bytes < PIECE_BYTES) {
        size_t piece = most < PIECE ? most : PIECE;
        sift->working = matches_work(&sift->matches, rows->total, piece, row_fits, &asked);
        view_frame_end(rows->view); /* what these rows were asked by is not needed for the next */
        most -= piece;
    }
    return sift->working;
}

size_t sift_count(const struct sift *sift, const struct sift_rows *rows)
{
    return sift->filtered ? sift->matches.count : rows->total;
}

size_t sift_row(const struct sift *sift, size_t index)
{
    return sift->filtered ? sift->matches.rows[index] : index;
}

size_t sift_index(const struct sift *sift, size_t row)
{
    return sift->filtered ? matches_find(&sift->matches, row) : row;
}

/* ---- searching ---- */

void sift_search(struct sift *sift, const struct sift_rows *rows, const char *text, bool back, size_t from)
{
    sift_look(sift, rows, 0);
    filter_set_text(&sift->search.wanted, text);
    sift->search.back = back;
    sift->search.all = sift->search.left = sift_count(sift, rows);
    sift->search.at = from < sift->search.all || back ? from : SIZE_MAX;
}

enum sift_found sift_search_on(struct sift *sift, const struct sift_rows *rows, size_t most, size_t *index)
{
    size_t bytes = 0;
    sift_look(sift, rows, 0);
    size_t count = sift_count(sift, rows);
    for (; sift->search.wanted.count && sift->search.left && count; sift->search.left--, most--) {
        size_t at = sift->search.at;
        if (!most || bytes > PIECE_BYTES)
            return SIFT_LATER;
        /* Round the end, as everywhere. */
        if (sift->search.back)
            at = at && at <= count ? at - 1 : count - 1;
        else
            at = at + 1 < count ? at + 1 : 0;
        sift->search.at = at;
        view_frame_end(rows->view);
        if (rows->fits(rows, &sift->search.wanted, sift_row(sift, at), &bytes)) {
            sift_search_stop(sift);
            *index = at;
            return SIFT_FOUND;
        }
    }
    sift_search_stop(sift);
    return SIFT_NOT;
}

void sift_search_stop(struct sift *sift)
{
    filter_release(&sift->search.wanted);
}

bool sift_searching(const struct sift *sift)
{
    return sift->search.wanted.count > 0;
}

/* ---- in words ---- */

void sift_note(struct strbuf *out, const struct sift *sift, const struct sift_rows *rows, const char *one,
               const char *many)
{
    size_t total = rows->total;
    if (sift->working) {
        text_count(out, (int64_t)sift->matches.count);
        strbuf_addf(out, " in %zu %% …", total ? sift->matches.scanned * 100 / total : 100);
    } else {
        if (sift->filtered) {
            text_count(out, (int64_t)sift->matches.count);
            strbuf_addstr(out, " of ");
        }
        if (many)
            text_plural(out, (int64_t)total, one, many);
        else
            text_count(out, (int64_t)total);
    }
    if (sift_searching(sift) && sift->search.all)
        strbuf_addf(out, " · searching %zu %%", (sift->search.all - sift->search.left) * 100 / sift->search.all);
}
