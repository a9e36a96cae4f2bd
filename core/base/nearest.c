/* Finds the known name nearest to a misspelled one, by edit distance with transpositions. Names longer than LONGEST get
 * no suggestion. */

#include "nearest.h"
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define LONGEST 64

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbors that make one text the other. Case does not count. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t cost = same(a[i - 1], b[j - 1]) ? 0 : 1;
            row[j] = least(least(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], before[j - 2] + 1);
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b_len];
}

struct nearest nearest_to(const char *wanted)
{
    return (struct nearest){wanted, NULL, 0};
}

void nearest_offer(struct nearest *near, const char *candidate)
{
    size_t a_len = strlen(near->wanted), b_len = strlen(candidate);
    if (a_len > LONGEST || b_len > LONGEST)
        return;
    size_t found = distance(near->wanted, a_len, candidate, b_len);
    size_t allowed = b_len < 3 ? 1 : (b_len + 2) / 3;
    if (found > allowed || found >= b_len || (near->best && found >= near->distance))
        return;
    near->best = candidate;
    near->distance = found;
}
