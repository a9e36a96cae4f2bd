#pragma once
/* Keeps the output of a program for the answer of its call: the beginning and the end in memory, and once it is
 * longer than both, all of it in an artifact, written as it arrives. So a flood costs bounded memory, and the answer
 * has its length. Bytes beyond SPOOL_MAX are only counted, and the artifact's last line has the number. */

#include "base/strbuf.h"
#include "event/rate_limit.h"
#include "workspace/program.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct artifact_writer;
struct json_writer;
struct tool_run;

#define SPOOL_WINDOW ((size_t)64 << 10) /* of the beginning in memory, and about as much of the end */
#define SPOOL_MAX    ((uint64_t)64 << 20)

struct spool {
    const struct tool_run *run;
    uint64_t max; /* SPOOL_MAX */
    /* internal */
    struct strbuf head, tail, half; /* half: of a character, for the artifact */
    uint64_t beyond;                /* bytes after those of `head` */
    bool spilled;                   /* there were such bytes */
    struct artifact_writer *file;
};

void spool_init(struct spool *spool, const struct tool_run *run);
void spool_add(struct spool *spool, const char *bytes, size_t len);
/* Adds the output as member `key`, and the members of output_limit_add_text if not all of it is shown. Call it once;
 * blocks. */
void spool_write(struct spool *spool, struct json_writer *w, const char *key, const char *prefix, size_t room);
/* Characters of the whole output in an answer, as output_limit_cost counts; for a long one any number that is too
 * large. */
size_t spool_cost(const struct spool *spool);
/* Removes an artifact that no answer names. */
void spool_release(struct spool *spool);

#define CALL_PRINTS_SHOWN (512u << 10) /* bytes of each stream, then at a limited rate: the call has the output too */

/* Both streams of a call's program: shown as tool.output while it runs, and kept. */
struct call_prints {
    struct rate_limit shown[2];
    struct spool kept[2]; /* the second is used only if they are kept apart */
    bool apart;
};
void call_prints_init(struct call_prints *prints, struct tool_run *run, bool apart);
struct program_prints call_prints_for(struct call_prints *prints); /* for the program's spec */
void call_prints_end(struct call_prints *prints);                  /* the output ended: shows the rest */
void call_prints_release(struct call_prints *prints);
