#pragma once
/* A turn whose scripts a fake harness answers; it logs the requests. Include support/fake_pool.h too, which replaces
 * the pool. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "event_json.h"
#include "fake_pool.h"
#include "replay_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct script_rig {
    struct turn_rig rig;
    struct fake_pool pool;
    double timeout_s, named_timeout_s; /* of the last request */
    char *mode, *secrets, *files, *tools;
    void (*answers)(struct fake_channel *config);
};

static inline void asked(struct fake_channel *config, const struct json *request)
{
    struct script_rig *f = config->data;
    CLEANUP(strbuf) struct strbuf secrets = STRBUF_INIT;
    json_write(&secrets, json_get(request, "required_secrets"), JSON_COMPACT);
    CLEANUP(strbuf) struct strbuf files = STRBUF_INIT;
    if (json_get(request, "files"))
        json_write(&files, json_get(request, "files"), JSON_COMPACT);
    CLEANUP(strbuf) struct strbuf tools = STRBUF_INIT;
    if (json_get(request, "tools"))
        json_write(&tools, json_get(request, "tools"), JSON_COMPACT);
    free(f->files);
    free(f->tools);
    free(f->secrets);
    free(f->mode);
    f->tools = strbuf_detach(&tools, NULL);
    f->files = strbuf_detach(&files, NULL);
    f->secrets = strbuf_detach(&secrets, NULL);
    f->mode = xstrdup(json_str(json_get(request, "mode"), ""));
    f->timeout_s = json_num(json_get(request, "timeout"), -1);
    f->named_timeout_s = json_num(json_get(request, "named_timeout"), -1);
    if (f->answers)
        f->answers(config);
}

static inline int set_up(void **state)
{
    struct script_rig *f = xcalloc(1, sizeof(*f));
    turn_rig_init(&f->rig);
    fake_pool_init(&f->pool, f->rig.loop);
    f->pool.config.asked = asked;
    f->pool.config.data = f;
    f->rig.config.pool = fake_pool(&f->pool);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    struct script_rig *f = *state;
    assert_int_equal(f->pool.taken, f->pool.given);
    if (f->rig.engine)
        turn_check_promises(&f->rig, true);
    fake_pool_release(&f->pool);
    turn_rig_release(&f->rig);
    free(f->mode);
    free(f->secrets);
    free(f->files);
    free(f->tools);
    free(f);
    return 0;
}

#define SCRIPT_TEST(NAME) TEST_WITH(NAME, set_up, tear_down)

static inline void call(struct script_rig *f, const char *arguments)
{
    if (!f->rig.engine)
        turn_rig_open(&f->rig);
    fake_answer_call(fake_provider_answer(f->rig.model), "c1", "run_script", arguments);
}

static inline void run(struct script_rig *f, const char *arguments)
{
    call(f, arguments);
    turn_rig_turn(&f->rig, "run it");
}

static inline const char *outcome(struct script_rig *f)
{
    return turn_check_outcome(&f->rig, "c1");
}

static inline const char *error(struct script_rig *f)
{
    assert_string_equal(outcome(f), "failure");
    return turn_check_json(&f->rig, event_json(turn_rig_finished(&f->rig, "c1"), "failure"), "error");
}

static inline void works(struct fake_channel *config)
{
    fake_channel_event(config, 10, "\"type\":\"log\",\"message\":\"hello\",\"level\":\"stdout\"");
    fake_channel_event(config, 20, "\"type\":\"intermediate\",\"label\":\"half\",\"data\":{\"n\":50}");
    fake_channel_event(config, 30, "\"type\":\"final_result\",\"data\":{\"answer\":42}");
    fake_channel_event(config, 40, "\"type\":\"script_done\"");
}

/* Sets another pool, for a separate rig. */
static inline void lend(struct script_rig *f, struct fake_pool *pool, struct turn_rig *rig)
{
    fake_pool_init(pool, rig->loop);
    pool->config.asked = asked;
    pool->config.data = f;
    rig->config.pool = fake_pool(pool);
}
