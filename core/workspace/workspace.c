/* Making and removing workspaces, and the record of each operation on one. Names are unique because a folder that is
 * there already makes us try the next nanosecond, so two programs with the same clock cannot share one. */

#include "workspace.h"
#include "base/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "event/emitter.h"
#include "layout.h"
#include "lend.h"
#include "sandbox/user.h"
#include "stage.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define WORKSPACE_MODE   0777 /* programs may run as another user */
#define CLEANUP_ATTEMPTS 8    /* while something in it still writes */

char *workspace_clean_id(const char *id)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t len = strlen(id), count = 0;
    char *clean = xmalloc(len + 1);
    for (size_t used; len; id += used, len -= used) {
        uint32_t c = utf8_decode(id, len, &used); /* one _ for a character, however many bytes it has */
        clean[count++] = c < 0x80 && strchr(plain, (int)c) ? (char)c : '_';
    }
    clean[count] = '\0';
    return clean;
}

struct workspace_capabilities workspace_describe(const struct workspace_policy *policy)
{
    return (struct workspace_capabilities){
        .isolation = policy->isolated ? "" : "local",
        .network_allowed = !policy->isolated,
        .streaming = true, /* programs can be talked to while they run */
        .clean_env = true,
        .max_disk_bytes = policy->max_disk_bytes > 0 ? policy->max_disk_bytes : 0,
    };
}

static bool is_blank(const char *text)
{
    return !text || !text[strspn(text, " \t\r\n")];
}

static const char *temp_base(void)
{
    const char *dir = getenv("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

/* Makes "<base>/ws_<id>_<ns>" and gives its path, or NULL. */
static char *make_folder(const char *base, const char *exec_id, struct clock *clock, const struct sandbox_user *owner,
                         struct err *err)
{
    CLEANUP(free) char *id = workspace_clean_id(exec_id);
    /* A name of 255 bytes is all that fits; the number tells them apart. */
    size_t room = 200;
    if (strlen(id) > room)
        id[room] = '\0';
    if (file_mkdirs(base, LAYOUT_DIR_MODE, err) < 0)
        return NULL;
    for (int64_t ns = clock->wall_us(clock) * 1000;; ns++) {
        CLEANUP(free) char *path = xasprintf("%s/ws_%s_%" PRId64, base, id, ns);
        if (mkdir(path, WORKSPACE_MODE) == 0) {
            if (chmod(path, WORKSPACE_MODE) == 0 && (!owner || lchown(path, owner->uid, owner->gid) == 0))
                return steal(&path);
            err_set_errno(err, errno, "cannot open %s to programs", path);
            rmdir(path);
            return NULL;
        }
        if (errno != EEXIST) {
            err_set_errno(err, errno, "cannot make the workspace %s", path);
            return NULL;
        }
    }
}

/* What every workspace of the kind is to see. */
static int link_inputs(struct workspace *ws, const char *inputs, struct err *err)
{
    if (is_blank(inputs))
        return 0;
    CLEANUP(free) char *real = realpath(inputs, NULL);
    if (!real)
        return err_set_errno(err, errno, "cannot show %s as " LAYOUT_INPUTS, inputs);
    CLEANUP(free) char *from = xasprintf(HOST_SCHEME "%s", real);
    struct stage_input input = {.from = from, .to = LAYOUT_INPUTS, .mode = "link"};
    return stage_inputs(ws, &input, 1, err);
}

static struct workspace *create(const struct workspace_options *options, struct clock *clock, const char *exec_id,
                                const struct workspace_policy *policy, struct err *err)
{
    CLEANUP(free) char *path = NULL;
    if (options->trusted) {
        if (is_blank(options->base)) {
            err_set(err, "a trusted workspace needs a folder");
            return NULL;
        }
        if (file_mkdirs(options->base, LAYOUT_DIR_MODE, err) < 0)
            return NULL;
        path = xstrdup(options->base);
    } else if (!(path = make_folder(is_blank(options->base) ? temp_base() : options->base, exec_id, clock,
                                    options->other_user ? sandbox_user() : NULL, err))) {
        return NULL;
    }
    struct workspace *ws = xcalloc(1, sizeof(*ws));
    ws->id = xstrdup(exec_id);
    ws->trusted = options->trusted;
    ws->policy = policy ? *policy : (struct workspace_policy){0};
    ws->clock = clock;
    ws->versions = options->versions;
    ws->ops = options->ops;
    ws->lends = options->lends;
    pthread_mutex_init(&ws->mutex, NULL);
    ws->root = beneath_open(path, err);
    if (ws->root) {
        ws->path = xstrdup(beneath_path(ws->root));
        beneath_set_alias(ws->root, options->seen_at);
        if (layout_ensure_beneath(ws->root, clock, err) == 0 && link_inputs(ws, options->inputs, err) == 0)
            return ws;
    }
    if (!ws->trusted)
        (void)!file_remove_tree(path, NULL);
    workspace_free(ws);
    return NULL;
}

struct workspace *workspace_create(const struct workspace_options *options, const char *exec_id,
                                   const struct workspace_policy *policy, struct err *err)
{
    struct clock *clock = options->clock ? options->clock : clock_system();
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, options->ops, clock, SPAN_CREATE);
    json_add_str(&span.attrs, SPAN_EXEC_ID, exec_id);
    struct workspace *ws = create(options, clock, exec_id, policy, &own);
    if (ws)
        json_add_str(&span.attrs, SPAN_PATH, ws->path);
    (void)span_end(&span, ws ? 0 : -1, &own, err);
    return ws;
}

static int remove_tree(const struct workspace *ws, struct err *err)
{
    for (int attempt = 1;; attempt++) {
        if (file_remove_tree(ws->path, err) == 0)
            return 0;
        if (attempt == CLEANUP_ATTEMPTS || !err || err->code != ENOTEMPTY)
            return -1;
    }
}

int workspace_mend(struct workspace *ws, struct err *err)
{
    if (!ws->trusted)
        layout_remove_links(ws->root);
    return layout_ensure_beneath(ws->root, ws->clock, err);
}

int workspace_cleanup(struct workspace *ws, struct err *err)
{
    if (!ws || is_blank(ws->path))
        return 0;
    struct err own = ERR_INIT;
    struct span span;
    span_begin(&span, ws->ops, ws->clock, SPAN_CLEANUP);
    json_add_str(&span.attrs, SPAN_PATH, ws->path);
    int status = ws->trusted || ws->policy.persist ? 0 : remove_tree(ws, &own);
    return span_end(&span, status, &own, err);
}

void workspace_free(struct workspace *ws)
{
    if (!ws)
        return;
    beneath_close(ws->root);
    workspace_lent_free(ws->lent, ws->lent_count);
    pthread_mutex_destroy(&ws->mutex);
    free(ws->id);
    free(ws->path);
    free(ws);
}

/* ---- operations ---- */

void span_begin(struct span *span, struct event_queue *ops, struct clock *clock, const char *op)
{
    *span = (struct span){.ops = ops, .clock = clock, .op = op, .began_us = clock->now_us(clock)};
    strbuf_init(&span->text);
    span->attrs = json_begin(&span->text);
    json_open(&span->attrs, NULL, '{');
}

int span_end(struct span *span, int status, const struct err *own, struct err *err)
{
    json_close(&span->attrs, '}');
    if (span->ops)
        event_queue_push(
            span->ops,
            &(struct event){.type = EVENT_WORKSPACE_OP,
                            .workspace_op = {.op = span->op,
                                             .elapsed_ms = (span->clock->now_us(span->clock) - span->began_us) / 1000,
                                             .error = status < 0 ? own->text : NULL,
                                             .attrs = span->text.buf}});
    strbuf_release(&span->text);
    if (status < 0 && err)
        *err = *own;
    return status;
}
