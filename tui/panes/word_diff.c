/* Finds the words that differ between two lines. It compares words, not letters: `count` and `amount` differ as a
 * whole.
 *
 * A line is split into words, runs of blanks and single signs. The common beginning and end are removed. The rest goes
 * through the standard longest common subsequence, which is quadratic and therefore limited to few words. Beyond that
 * limit only the common ends count. */

#include "word_diff.h"
#include <assert.h>
#include <string.h>

#define TOKENS_MAX 256   /* tokens of a line; longer lines are compared by their ends */
#define MIDDLE_MAX 96    /* tokens between the common ends that are compared one by one */
#define BYTES_MAX  16384 /* bytes of a line */
#define ALIGN_MAX  32    /* lines of a run that are aligned by similarity */
#define LIKE_BYTES 256   /* bytes of a line that are compared for that */
#define LIKE_LEAST 25    /* percent */

struct word_token {
    const char *text;
    size_t len;
};

struct tokens {
    struct word_token items[TOKENS_MAX];
    bool common[TOKENS_MAX];
    size_t count;
};

static int kind_of(unsigned char c)
{
    if (c == ' ' || c == '\t')
        return 1;
    return c == '_' || c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ? 2 : 0;
}

/* False if there are too many tokens. */
static bool tokenize(struct tokens *tokens, const char *text, size_t len)
{
    tokens->count = 0;
    for (size_t at = 0; at < len;) {
        size_t from = at;
        int kind = kind_of((unsigned char)text[at++]);
        while (kind && at < len && kind_of((unsigned char)text[at]) == kind)
            at++;
        if (tokens->count == TOKENS_MAX)
            return false;
        tokens->common[tokens->count] = false;
        tokens->items[tokens->count++] = (struct word_token){text + from, at - from};
    }
    return true;
}

static bool same(const struct word_token *a, const struct word_token *b)
{
    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Marks the common tokens of old[from, from + n) and new[from, from + m). */
static void common_middle(struct tokens *old, struct tokens *new, size_t from, size_t n, size_t m)
{
    static_assert(MIDDLE_MAX < 256, "lengths fit a byte");
    unsigned char longest[MIDDLE_MAX + 1][MIDDLE_MAX + 1];
    if (n == 0 || m == 0 || n > MIDDLE_MAX || m > MIDDLE_MAX)
        return;
    for (size_t i = n + 1; i-- > 0;)
        for (size_t k = m + 1; k-- > 0;) {
            if (i == n || k == m)
                longest[i][k] = 0;
            else if (same(&old->items[from + i], &new->items[from + k]))
                longest[i][k] = (unsigned char)(longest[i + 1][k + 1] + 1);
            else
                longest[i][k] = longest[i + 1][k] > longest[i][k + 1] ? longest[i + 1][k] : longest[i][k + 1];
        }
    for (size_t i = 0, k = 0; i < n && k < m;) {
        if (same(&old->items[from + i], &new->items[from + k])) {
            old->common[from + i++] = true;
            new->common[from + k++] = true;
        } else if (longest[i + 1][k] >= longest[i][k + 1]) {
            i++;
        } else {
            k++;
        }
    }
}

static bool is_blank(const struct word_token *token)
{
    return kind_of((unsigned char)token->text[0]) == 1;
}

/* Counts the bytes of a line that are not blanks: all, and the common ones. */
static void weigh(const struct tokens *tokens, size_t *all, size_t *common)
{
    *all = *common = 0;
    for (size_t i = 0; i < tokens->count; i++)
        if (!is_blank(&tokens->items[i])) {
            *all += tokens->items[i].len;
            *common += tokens->common[i] ? tokens->items[i].len : 0;
        }
}

static void add_span(struct word_diff *mark, size_t from, size_t to)
{
    if (mark->count && mark->spans[mark->count - 1].to == from)
        mark->spans[mark->count - 1].to = to;
    else if (mark->count == WORD_DIFF_SPANS)
        mark->spans[mark->count - 1].to = to; /* out of spans: mark too much rather than too little */
    else
        mark->spans[mark->count++] = (struct word_diff_span){from, to};
}

static void collect(struct word_diff *mark, const struct tokens *tokens, const char *text)
{
    for (size_t i = 0; i < tokens->count; i++) {
        const struct word_token *token = &tokens->items[i];
        /* A single blank between two changed words belongs to the change. */
        bool between = i > 0 && i + 1 < tokens->count && is_blank(token) && !tokens->common[i - 1] &&
                       !tokens->common[i + 1] && !is_blank(&tokens->items[i - 1]);
        if (!tokens->common[i] || between)
            add_span(mark, (size_t)(token->text - text), (size_t)(token->text - text) + token->len);
    }
}

/* Lines with too many words: one span each, between the common ends. Spans contain whole characters only. */
static bool mark_ends(const char *old, size_t old_len, const char *new, size_t new_len, struct word_diff *removed,
                      struct word_diff *added)
{
    size_t least = old_len < new_len ? old_len : new_len;
    size_t first = 0, last = 0;
    while (first < least && old[first] == new[first])
        first++;
    while (first && first < least && ((unsigned char)old[first] & 0xC0) == 0x80)
        first--;
    while (last < least - first && old[old_len - 1 - last] == new[new_len - 1 - last])
        last++;
    while (last && ((unsigned char)old[old_len - last] & 0xC0) == 0x80)
        last--;
    if ((first + last) * 3 < (old_len > new_len ? old_len : new_len))
        return false;
    if (first + last < old_len)
        add_span(removed, first, old_len - last);
    if (first + last < new_len)
        add_span(added, first, new_len - last);
    return true;
}

bool word_diff_lines(const char *old, size_t old_len, const char *new, size_t new_len, struct word_diff *removed,
                     struct word_diff *added)
{
    struct tokens a, b;
    size_t first = 0, last = 0, all_a, all_b, common_a, common_b;
    removed->count = added->count = 0;
    if (old_len > BYTES_MAX || new_len > BYTES_MAX)
        return false;
    if (!tokenize(&a, old, old_len) || !tokenize(&b, new, new_len))
        return mark_ends(old, old_len, new, new_len, removed, added);
    while (first < a.count && first < b.count && same(&a.items[first], &b.items[first])) {
        a.common[first] = b.common[first] = true;
        first++;
    }
    while (last < a.count - first && last < b.count - first &&
           same(&a.items[a.count - 1 - last], &b.items[b.count - 1 - last])) {
        a.common[a.count - 1 - last] = b.common[b.count - 1 - last] = true;
        last++;
    }
    common_middle(&a, &b, first, a.count - first - last, b.count - first - last);
    weigh(&a, &all_a, &common_a);
    weigh(&b, &all_b, &common_b);
    if (common_a * 3 < (all_a < all_b ? all_a : all_b) || (!common_a && (all_a || all_b)))
        return false;
    collect(removed, &a, old);
    collect(added, &b, new);
    return true;
}

/* How similar two lines are at their ends, in percent. Indentation does not count. */
static int likeness(const struct diff_line *a, const struct diff_line *b)
{
    const char *x = a->text, *y = b->text;
    size_t n = a->len, m = b->len;
    while (n && (*x == ' ' || *x == '\t'))
        x++, n--;
    while (m && (*y == ' ' || *y == '\t'))
        y++, m--;
    size_t least = n < m ? n : m, most = n < m ? m : n;
    if (most == 0)
        return 100;
    size_t first = 0, last = 0;
    while (first < least && first < LIKE_BYTES && x[first] == y[first])
        first++;
    while (last < least - first && last < LIKE_BYTES && x[n - 1 - last] == y[m - 1 - last])
        last++;
    most = most < 2 * (size_t)LIKE_BYTES ? most : 2 * (size_t)LIKE_BYTES;
    return (int)((first + last) * 100 / most);
}

/* Finds the pairs, in order, with the highest total similarity. */
static void align(const struct diff_line *removed, size_t n, const struct diff_line *added, size_t m, int *partner)
{
    int worth[ALIGN_MAX + 1][ALIGN_MAX + 1];
    signed char like[ALIGN_MAX][ALIGN_MAX];
    for (size_t i = n + 1; i-- > 0;)
        for (size_t k = m + 1; k-- > 0;) {
            worth[i][k] = 0;
            if (i == n || k == m)
                continue;
            int percent = likeness(&removed[i], &added[k]);
            like[i][k] = (signed char)(percent < LIKE_LEAST ? 0 : percent > 100 ? 100 : percent);
            worth[i][k] = worth[i + 1][k] > worth[i][k + 1] ? worth[i + 1][k] : worth[i][k + 1];
            if (like[i][k] && worth[i + 1][k + 1] + like[i][k] > worth[i][k])
                worth[i][k] = worth[i + 1][k + 1] + like[i][k];
        }
    for (size_t i = 0, k = 0; i < n && k < m;) {
        if (like[i][k] && worth[i][k] == worth[i + 1][k + 1] + like[i][k])
            partner[i++] = (int)k++;
        else if (worth[i][k] == worth[i + 1][k])
            i++;
        else
            k++;
    }
}

void word_diff_pair(const struct diff_line *removed, size_t removed_count, const struct diff_line *added,
                    size_t added_count, int partner[WORD_DIFF_RUN])
{
    for (size_t i = 0; i < WORD_DIFF_RUN; i++)
        partner[i] = -1;
    if (removed_count > WORD_DIFF_RUN || added_count > WORD_DIFF_RUN)
        return;
    if (removed_count <= ALIGN_MAX && added_count <= ALIGN_MAX)
        align(removed, removed_count, added, added_count, partner);
    else if (removed_count == added_count)
        for (size_t i = 0; i < removed_count; i++)
            partner[i] = (int)i;
}
