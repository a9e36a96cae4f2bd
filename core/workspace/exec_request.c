/* Arguments of a command, under the names that models know. */

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "exec.h"
#include "globs.h"
#include "layout.h"
#include <string.h>

/* The first of the names that is there and is not null. */
static const struct json *first_of(const struct json *args, const char *one, const char *two)
{
    const struct json *value = json_get(args, one);
    if (!value || value->type == JSON_NULL)
        value = json_get(args, two);
    return value && value->type != JSON_NULL ? value : NULL;
}

int exec_env_read(struct env_vars *env, struct arena *arena, const struct json *said,
                  const struct command_policy *policy, struct err *err)
{
    bool checked = command_policy_active(policy);
    struct env_var *vars = arena_calloc(arena, said ? said->count + 1 : 1, sizeof(*vars));
    *env = (struct env_vars){.items = vars};
    if (said && said->type != JSON_OBJECT && said->type != JSON_NULL)
        return err_set(err, "env must be an object of texts");
    json_each (var, said) {
        if (var->type != JSON_STRING)
            return err_set(err, "env.%.60s must be a text", var->key);
        if (!checked || !env_steers(var->key))
            vars[env->count++] = (struct env_var){var->key, var->text};
    }
    return 0;
}

/* ---- where it starts: by the text alone; whoever opens the folder asks the kernel again ---- */

/* Without ".", ".." and empty parts; -1 when it leaves a root that it does not begin with. */
static int clean_path(struct strbuf *out, const char *path)
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
    if (full && clean_path(&path, full)) {
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

/* "/workspace/work" is what a program prints of "work". */
static const char *below_root(const char *cwd, const char *root)
{
    size_t len = strlen(root);
    return strncmp(cwd, root, len) == 0 && (!cwd[len] || cwd[len] == '/') ? cwd + len : cwd;
}

int exec_request_read(struct exec_request *request, struct arena *arena, const struct json *args,
                      const struct command_policy *policy, const char *root, struct err *err)
{
    const char *command = json_str(json_get(args, "command"), "");
    int64_t timeout = json_int(first_of(args, "timeout_sec", "timeoutSec"), 0);
    if (timeout <= 0)
        timeout = json_int(json_get(args, "timeout"), 0);
    if (timeout > EXEC_TIMEOUT_MAX_S)
        timeout = EXEC_TIMEOUT_MAX_S;
    int64_t yield = json_int(first_of(args, "yield_time_ms", "yieldMs"), 0);
    *request = (struct exec_request){.command = arena_strdup(arena, command),
                                     .input = json_str(json_get(args, "stdin"), NULL),
                                     .timeout_ms = timeout > 0 ? timeout * 1000 : EXEC_TIMEOUT_MS,
                                     .yield_ms = yield,
                                     .background = json_bool(json_get(args, "background"), false),
                                     .tty = json_bool(first_of(args, "tty", "pty"), false)};
    request->one_shot = !request->background && !request->tty && yield == 0;
    if (!command[strspn(command, " \t\r\n")])
        return err_set(err, "command is required");
    if (command_policy_check(policy, command, err) ||
        exec_env_read(&request->env, arena, json_get(args, "env"), policy, err))
        return -1;
    CLEANUP(free) char *cwd = cwd_normalize(below_root(json_str(json_get(args, "cwd"), ""), root), err);
    if (!cwd)
        return -1;
    request->cwd = arena_strdup(arena, cwd);
    return 0;
}
