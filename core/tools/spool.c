/* Keeps the long output of a running command: its head and tail in memory, all of it in an artifact. */

#include "spool.h"
#include "artifact.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "output_limit.h"
#include "tool.h"
#include <inttypes.h>
#include <string.h>

void spool_init(struct spool *spool, const struct tool_run *run)
{
    *spool = (struct spool){.run = run, .max = SPOOL_MAX};
    strbuf_init(&spool->head);
    strbuf_init(&spool->tail);
    strbuf_init(&spool->half);
}

static uint64_t bytes_in_all(const struct spool *spool)
{
    return spool->head.len + spool->beyond;
}

/* An artifact is text: invalid bytes become U+FFFD, except for a character that is split between two reads. */
static void keep(struct spool *spool, const char *bytes, size_t len, bool end)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    struct strbuf *half = &spool->half;
    strbuf_add(half, bytes, len);
    size_t whole = end ? half->len : half->len - utf8_unfinished(half->buf, half->len);
    utf8_scrub(&text, half->buf, whole);
    memmove(half->buf, half->buf + whole, half->len - whole);
    strbuf_set_len(half, half->len - whole);
    artifact_writer_add(spool->file, text.buf, text.len);
}

/* Adds the next bytes of the stream; `before` bytes came earlier. */
static void keep_some(struct spool *spool, uint64_t before, const char *bytes, size_t len)
{
    uint64_t room = before < spool->max ? spool->max - before : 0;
    if (spool->file && room)
        keep(spool, bytes, len < room ? len : (size_t)room, false);
}

static void spill(struct spool *spool)
{
    const struct tool_env *env = spool->run->env;
    spool->spilled = true;
    if (env->artifacts)
        spool->file = artifact_store_begin(env->artifacts, env->session, spool->run->tool->spec.name);
    keep_some(spool, 0, spool->head.buf, spool->head.len);
}

static void add_to_tail(struct strbuf *tail, const char *bytes, size_t len)
{
    size_t skip = len > SPOOL_WINDOW ? len - SPOOL_WINDOW : 0;
    strbuf_add(tail, bytes + skip, len - skip);
    if (tail->len <= 2 * SPOOL_WINDOW)
        return;
    memmove(tail->buf, tail->buf + tail->len - SPOOL_WINDOW, SPOOL_WINDOW);
    strbuf_set_len(tail, SPOOL_WINDOW);
}

void spool_add(struct spool *spool, const char *bytes, size_t len)
{
    size_t room = SPOOL_WINDOW - spool->head.len, first = len < room ? len : room;
    /* Fill it first, because it must be the beginning. */
    strbuf_add(&spool->head, bytes, first);
    if (!spool->spilled && first < len)
        spill(spool);
    if (spool->spilled) {
        keep_some(spool, bytes_in_all(spool), bytes + first, len - first);
        add_to_tail(&spool->tail, bytes + first, len - first);
        spool->beyond += len - first;
    }
}

/* NULL: storing failed. */
static struct artifact *end_file(struct spool *spool)
{
    if (!spool->file)
        return NULL;
    keep(spool, "", 0, true);
    if (bytes_in_all(spool) > spool->max) {
        CLEANUP(free)
        char *note = xasprintf("\n[%" PRIu64 " bytes more were printed; only the first %" PRIu64 " are kept]\n",
                               bytes_in_all(spool) - spool->max, spool->max);
        artifact_writer_add(spool->file, note, strlen(note));
    }
    return artifact_writer_end(steal(&spool->file));
}

void spool_write(struct spool *spool, struct json_writer *w, const char *key, const char *prefix, size_t room)
{
    const struct tool_run *run = spool->run;
    if (!spool->spilled) {
        output_limit_add_text(w, key, prefix, spool->head.buf, spool->head.len, room, run->env, run->tool->spec.name);
        return;
    }
    uint64_t total = bytes_in_all(spool);
    struct artifact *kept = end_file(spool);
    strbuf_add(&spool->head, spool->tail.buf, spool->tail.len);
    output_limit_add_cut(w, key, prefix, spool->head.buf, spool->head.len, room, total, kept);
    artifact_free(kept);
}

size_t spool_cost(const struct spool *spool)
{
    return spool->spilled ? SIZE_MAX : output_limit_cost(spool->head.buf, spool->head.len);
}

void spool_release(struct spool *spool)
{
    artifact_writer_drop(spool->file);
    strbuf_release(&spool->head);
    strbuf_release(&spool->tail);
    strbuf_release(&spool->half);
}

/* ---- both streams of a call ---- */

void call_prints_init(struct call_prints *prints, struct tool_run *run, bool apart)
{
    static const char *const names[] = {[PROCESS_STDOUT] = "stdout", [PROCESS_STDERR] = "stderr"};
    prints->apart = apart;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct event event = {.type = EVENT_TOOL_OUTPUT, .tool_output = {.call = run->call, .stream = names[i]}};
        rate_limit_init(&prints->shown[i], run->env->loop, CALL_PRINTS_SHOWN, run->emitter, &event);
        spool_init(&prints->kept[i], run);
    }
}

static void keep_printed(void *user, enum process_stream stream, const char *bytes, size_t len)
{
    struct call_prints *prints = user;
    spool_add(&prints->kept[prints->apart ? stream : PROCESS_STDOUT], bytes, len);
}

struct program_prints call_prints_for(struct call_prints *prints)
{
    return (struct program_prints){
        .record = {&prints->shown[0], &prints->shown[1]}, .watch = keep_printed, .user = prints};
}

void call_prints_end(struct call_prints *prints)
{
    rate_limit_flush(&prints->shown[0], true);
    rate_limit_flush(&prints->shown[1], true);
}

void call_prints_release(struct call_prints *prints)
{
    for (size_t i = 0; i < COUNT_OF(prints->shown); i++) {
        rate_limit_release(&prints->shown[i]);
        spool_release(&prints->kept[i]);
    }
}
