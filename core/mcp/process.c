/* The process of a server. keyturn-launch stands in between, as it does for programs: it takes up whatever the server
 * starts, in whatever session, and ends all of it when the server ends or the line to us does, be it that we were
 * killed.
 *
 * Its environment is small: what a program needs to run and what the user put into its entry. A server that prints
 * every variable it sees is a real one. */

#include "base/child.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool names_variable(const char *assignment, const char *name)
{
    size_t len = strlen(name);
    return strncmp(assignment, name, len) == 0 && assignment[len] == '=';
}

char **mcp_process_env(const struct mcp_spec *spec)
{
    static const char *const usual[] = {"PATH", "HOME", "USER",   "LOGNAME", "SHELL",
                                        "TERM", "LANG", "LC_ALL", "TZ",      "TMPDIR"};
    size_t own = 0, count = 0;
    while (spec->env && spec->env[own])
        own++;
    char **env = xcalloc(own + COUNT_OF(usual) + 1, sizeof(*env));
    for (size_t i = 0; i < own; i++) {
        CLEANUP(free) char *name = xmemdup0(spec->env[i], strcspn(spec->env[i], "="));
        if (redact_name_tells(name))
            redact_add(name, spec->env[i] + strlen(name) + 1);
        env[count++] = xasprintf(LAUNCH_PREFIX "%s", spec->env[i]);
    }
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        const char *value = getenv(usual[i]);
        bool said = false;
        for (size_t k = 0; k < own; k++)
            said |= names_variable(spec->env[k], usual[i]);
        if (value && !said)
            env[count++] = xasprintf(LAUNCH_PREFIX "%s=%s", usual[i], value);
    }
    return env;
}

static const char *folder_of(const struct mcp_server *server)
{
    return server->spec->cwd ? server->spec->cwd : server->workspace;
}

struct child *mcp_process_start(struct mcp_server *server, const struct child_options *options, struct err *err)
{
    CLEANUP(free) char *launcher = launcher_path();
    const char *const before[] = {launcher, "--control", "--cwd", folder_of(server), "--"};
    const char *const *words = server->spec->argv;
    size_t count = 0;
    while (words[count])
        count++;
    CLEANUP(free) const char **argv = xcalloc(COUNT_OF(before) + count + 1, sizeof(*argv));
    memcpy(argv, before, sizeof(before));
    memcpy(argv + COUNT_OF(before), words, count * sizeof(*argv));
    struct child_options whole = *options;
    whole.argv = argv;
    whole.env = (const char *const *)server->env;
    server->began = true;
    server->exit_status = server->exit_signal = 0;
    return child_start(server->loop, &whole, err);
}

/* What keyturn-launch tells (harness/launch.c): how it ended, or that it never began. */
static void take_launch_line(void *user, const char *text, size_t len)
{
    struct mcp_server *server = user;
    CLEANUP(free) char *line = xmemdup0(text, len);
    int number;
    if (sscanf(line, "error %d", &number) == 1) {
        server->began = false;
        server->exit_status = number;
    } else if (sscanf(line, "signal %d", &number) == 1) {
        server->exit_signal = number;
    }
}

static void launch_line_too_long(void *user)
{
    (void)user;
}

void mcp_process_control(void *data, const char *bytes, size_t len)
{
    struct mcp_server *server = data;
    rpc_lines_feed(&server->control, bytes, len,
                   &(struct rpc_listener){take_launch_line, launch_line_too_long, NULL, server});
}

static void why_not_begun(struct strbuf *why, const struct mcp_server *server)
{
    const char *name = server->spec->argv[0], *folder = folder_of(server);
    int code = server->exit_status;
    if (access(folder, X_OK)) /* a missing folder and a missing program give the same code */
        strbuf_addf(why, "cannot start %s in %s: %s", name, folder, strerror(errno));
    else if (code == ENOENT && !strchr(name, '/'))
        strbuf_addf(why, "cannot start %s: it is not in PATH", name);
    else
        strbuf_addf(why, "cannot start %s: %s", name, strerror(code));
}

bool mcp_process_why(struct strbuf *why, const struct mcp_server *server, int status, int signum)
{
    if (!server->began) {
        why_not_begun(why, server);
        return false;
    }
    if (server->exit_signal)
        signum = server->exit_signal;
    if (signum)
        strbuf_addf(why, "it was ended by signal %d (%s)", signum, strsignal(signum));
    else
        strbuf_addf(why, "it ended with status %d", status);
    const char *last = strrchr(server->said.buf, '\n');
    last = last ? last + 1 : server->said.buf;
    if (*last)
        strbuf_addf(why, ", its last words: %.*s", (int)utf8_prefix(last, strlen(last), 200), last);
    return true;
}
