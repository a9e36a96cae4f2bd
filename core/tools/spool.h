#pragma once
/* What a program prints, kept for the answer of its call: the beginning and the end in memory, and once it is longer
 * than both all of it in an artifact, written as it comes. So the memory that a flood costs is bounded, and its answer
 * says how long it was. Of more than SPOOL_MAX bytes the rest is counted, and the artifact's last line says how much
 * that is. */

#include "base/strbuf.h"
#include "event/rate_limit.h"
#include "workspace/program.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct artifact_writer;
struct json_writer;
struct tool_run;

#define SPOOL_WINDOW ((size_t)64 << 10) /* the beginning in memory, and about so much of the end */
#define SPOOL_MAX    ((uint64_t)64 << 20)

struct spool {
    const struct tool_run *run;
    uint64_t max; /* SPOOL_MAX */
    /* its own */
    struct strbuf head, tail, half; /* half: of a character, for the artifact */
    uint64_t beyond;                /* bytes that came after those of `head` */
    bool spilled;                   /* there were some */
    struct artifact_writer *file;
};

void spool_init(struct spool *spool, const struct tool_run *run);
void spool_add(struct spool *spool, const char *bytes, size_t len);
/* Adds what was printed as member `key`, and what long_text_add adds where not all of it is shown. Once; blocks. */
void spool_write(struct spool *spool, struct json_writer *w, const char *key, const char *prefix, size_t room);
/* Characters that all of it takes in an answer, as page_cost counts; any number that is too large where it was long. */
size_t spool_cost(const struct spool *spool);
/* Leaves no artifact that was not written to an answer. */
void spool_release(struct spool *spool);

#define CALL_PRINTS_SHOWN                                                                      \
    (512u << 10) /* bytes of each stream; then a limited rate: the call has the output as well \
                  */

/* Both streams of a call's program: shown as tool.output while it runs, and kept. */
struct call_prints {
    struct rate_limit shown[2];
    struct spool kept[2]; /* the second is used only when they are kept apart */
    bool apart;
};
void call_prints_init(struct call_prints *prints, struct tool_run *run, bool apart);
struct program_prints call_prints_for(struct call_prints *prints); /* for the program's spec */
void call_prints_end(struct call_prints *prints);                  /* nothing more comes: shows the rest */
void call_prints_release(struct call_prints *prints);
