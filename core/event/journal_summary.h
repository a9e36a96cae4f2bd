#pragma once
/* The summary of a session, read from the two ends of its journal: the prompt is at the beginning, the result at the
 * end.
 *
 * A list of a hundred sessions must not pay for what is in between. */

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct journal_summary {
    char *prompt;    /* of the first turn, "": none yet */
    char *name;      /* that the user gave it, if the part that was read tells; "": none */
    char *workspace; /* "": not recorded */
    char *model;
    char *ended; /* status of the newest turn that ended, "": none */
    int64_t turns;
    int64_t writes;           /* applied writes in the part that was read */
    int64_t undone;           /* of these, undone and not redone since */
    int64_t approved, denied; /* decisions about writes */
    bool all;                 /* the whole file was read: these counts are complete */
    bool under_way;           /* the newest turn has not ended */
    bool waits;               /* its newest question has no answer */
    bool broken;              /* a line is not an event, and not because a crash cut it short */
};

/* Returns -1 and the reason if the file cannot be read or does not begin as a journal. */
int journal_summary_read(struct journal_summary *summary, const char *path, struct err *err) CHECKED;
void journal_summary_release(struct journal_summary *summary);

static inline void journal_summary_cleanup(struct journal_summary *summary)
{
    journal_summary_release(summary);
}
