/* By the text alone; whoever opens the folder asks the kernel again. */

#include "cwd.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "globs.h"
#include "layout.h"
#include <stdbool.h>
#include <string.h>

/* Without ".", ".." and empty parts; -1 when it leaves a root that it does not begin with. */
static int clean(struct strbuf *out, const char *path)
{
    bool absolute = *path == '/';
    while (*path) {
        size_t len = strcspn(path, "/");
        if (len == 2 && memcmp(path, "..", 2) == 0) {
            char *slash = out->len ? memrchr(out->buf, '/', out->len) : NULL;
            if (!out->len && !absolute)
                return -1;
            strbuf_set_len(out, slash ? (size_t)(slash - out->buf) : 0);
        } else if (len && !(len == 1 && *path == '.')) {
            if (out->len)
                strbuf_addch(out, '/');
            strbuf_add(out, path, len);
        }
        path += len;
        path += *path == '/';
    }
    return 0;
}

static bool is_ours(const char *path)
{
    for (size_t i = 0; i < LAYOUT_DIRS; i++) {
        size_t len = strlen(layout_rows[i].name);
        if (strncmp(path, layout_rows[i].name, len) == 0 && (!path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

char *cwd_normalize(const char *raw, struct err *err)
{
    CLEANUP(free) char *plain = xstrdup(raw);
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    for (char *at = plain; *at; at++)
        if (*at == '\\')
            *at = '/';
    if (strpbrk(plain, "*?[")) {
        err_set(err, "the working folder must not be a pattern: %.200s", raw);
        return NULL;
    }
    CLEANUP(free) char *full = globs_normalize(plain);
    if (full && clean(&path, full)) {
        err_set(err, "the working folder must stay within the workspace: %.200s", raw);
        return NULL;
    }
    if (path.len && !is_ours(path.buf)) {
        err_set(err, "the working folder must be in skills, work, runs or out: %.200s", raw);
        return NULL;
    }
    if (!path.len)
        strbuf_addch(&path, '.');
    return strbuf_detach(&path, NULL);
}
