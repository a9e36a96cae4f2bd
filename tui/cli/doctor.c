/* keyturn doctor: checks what works on this machine, one line per check. A warning marks something optional. A FAIL
 * marks a problem that breaks runs, or something that the config file asks for and that does not work. */

#include "app/cli_error.h"
#include "app/setup.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/strbuf.h"
#include "cli_out.h"
#include "config/config.h"
#include "event/store.h"
#include "mcp/mcp.h"
#include "model/answer.h"
#include "options.h"
#include "sandbox/engines_program.h"
#include "sandbox/forwarder_rules.h"
#include "sandbox/limits.h"
#include "sandbox/scratch_dirs.h"
#include "sandbox/user.h"
#include "screen/text.h"
#include "screen/theme.h"
#include "self_test.h"
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum finding { FINDING_OK, FINDING_WARN, FINDING_FAIL };

#define TEXT_COL    19 /* column of the text */
#define HOSTS_SHOWN 8

struct doctor {
    struct cli_out output;
    const struct options *options;
    struct config *config; /* NULL: the file could not be read */
    size_t width;
    bool failed;
};

__attribute__((format(printf, 4, 5))) static void tell(struct doctor *doctor, enum finding finding, const char *what,
                                                       const char *fmt, ...)
{
    static const char *const words[] = {"ok", "warn", "FAIL"};
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    va_list args;
    va_start(args, fmt);
    strbuf_vaddf(&text, fmt, args);
    va_end(args);
    strbuf_addf(&doctor->output.text, "%-5s %-12s ", words[finding], what);
    text_show(&line, text.buf, text.len, 0);
    text_wrap(&doctor->output.text, line.buf, line.len, TEXT_COL, doctor->width);
    doctor->failed |= finding == FINDING_FAIL;
}

static const char *colors(const char *term)
{
    const char *more = getenv("COLORTERM");
    const char *none = getenv("NO_COLOR");
    if (none && *none)
        return "no colors (NO_COLOR)";
    if (more && (strstr(more, "truecolor") || strstr(more, "24bit")))
        return "true color";
    return strstr(term, "256") ? "256 colors" : "8 or 16 colors";
}

static void terminal(struct doctor *doctor)
{
    const char *term = getenv("TERM");
    struct winsize size = {0};
    if (!isatty(STDOUT_FILENO)) {
        tell(doctor, FINDING_WARN, "terminal", "none: runs print plain text (or --headless events)");
    } else if (!term || !*term || strcmp(term, "dumb") == 0) {
        tell(doctor, FINDING_WARN, "terminal", "TERM is %s: no colors, no screen", term && *term ? term : "not set");
    } else {
        bool sized = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col;
        bool small = sized && (size.ws_col < 80 || size.ws_row < 24);
        tell(doctor, small ? FINDING_WARN : FINDING_OK, "terminal", "%s, %dx%d%s, %s", term, size.ws_col, size.ws_row,
             small ? " (80x24 or more shows everything)" : "", colors(term));
    }
    if (text_utf8())
        tell(doctor, FINDING_OK, "locale", "UTF-8");
    else
        tell(doctor, FINDING_WARN, "locale", "not UTF-8: non-ASCII letters are spelled out (set LANG=C.UTF-8)");
}

/* ---- MCP servers ---- */

#define SERVERS_WAIT_S 30
#define NAME_COLS_MAX  28 /* width of tool names; leaves room for the effect in 80 columns */

/* Prints a line about a server. A server may print what it was given, so secrets are redacted. */
static void tell_server(struct doctor *doctor, enum finding finding, const char *what, const char *text)
{
    CLEANUP(free) char *shown = redact_copy(text);
    tell(doctor, finding, what, "%s", shown);
}

static const char *last_line(const char *text)
{
    const char *end = strrchr(text, '\n');
    return end ? end + 1 : text;
}

/* What the user can do about a server that did not start. */
static const char *advice(const struct mcp_status *status)
{
    return status->state == MCP_STARTING ? "a session starts without it; run its command by hand to see why"
                                         : "fix its entry, or set \"disabled\": true";
}

static void tell_state(struct doctor *doctor, const struct mcp_status *status)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool fine = status->state == MCP_READY || status->state == MCP_OFF;
    if (status->state == MCP_READY)
        strbuf_addf(&text, "%s: %s %s, protocol %s, %zu tool%s", status->name,
                    status->title ? status->title : "(no name)", status->version ? status->version : "(no version)",
                    status->protocol, status->tool_count, status->tool_count == 1 ? "" : "s");
    else if (status->state == MCP_OFF)
        strbuf_addf(&text, "%s: switched off (\"disabled\")", status->name);
    else if (status->state == MCP_STARTING)
        strbuf_addf(&text, "%s: not ready after %d s%s%s", status->name, SERVERS_WAIT_S,
                    *status->said ? "; last line: " : "", last_line(status->said));
    else
        strbuf_addf(&text, "%s: %s", status->name, status->why);
    if (!fine)
        strbuf_addf(&text, " (%s)", advice(status));
    if (status->state == MCP_READY && !status->trusted && status->tool_count)
        strbuf_addstr(&text, "; not trusted: every call needs approval (\"trust\": true or \"effects\" changes that)");
    if (status->note)
        strbuf_addf(&text, "; %s", status->note);
    tell_server(doctor, fine ? FINDING_OK : FINDING_FAIL, "MCP server", text.buf);
}

static void tell_tool(struct doctor *doctor, const struct mcp_offer *offer, size_t name_cols)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    strbuf_addf(&text, "%-*s  ", (int)name_cols, offer->qualified);
    if (offer->left_out) {
        strbuf_addf(&text, "left out: %s", offer->left_out);
    } else {
        mcp_class_write(&text, &offer->class);
        strbuf_addstr(&text, offer->class.asks ? ", needs approval" : ", no approval needed");
        if (offer->claimed.bits != offer->class.bits) {
            strbuf_addstr(&text, " (the server says ");
            mcp_class_write(&text, &offer->claimed);
            strbuf_addch(&text, ')');
        }
    }
    tell_server(doctor, offer->left_out ? FINDING_WARN : FINDING_OK, "tool", text.buf);
}

static void tell_tools(struct doctor *doctor, const struct mcp *mcp, size_t server, size_t count)
{
    size_t name_cols = 0;
    for (size_t i = 0; i < count; i++) {
        size_t cols = strlen(mcp_offer(mcp, server, i).qualified); /* names are ASCII */
        name_cols = cols > name_cols && cols <= NAME_COLS_MAX ? cols : name_cols;
    }
    for (size_t i = 0; i < count; i++) {
        struct mcp_offer offer = mcp_offer(mcp, server, i);
        tell_tool(doctor, &offer, name_cols);
    }
}

static void try_servers(struct doctor *doctor)
{
    struct err err = ERR_INIT;
    struct beneath *root = doctor->config->mcp.count ? beneath_open(".", &err) : NULL;
    if (!root)
        return;
    struct loop *loop = loop_new(clock_system());
    struct mcp *mcp = mcp_open(loop, &doctor->config->mcp, beneath_path(root));
    mcp_wait(mcp, SERVERS_WAIT_S);
    for (size_t i = 0; i < mcp_count(mcp); i++) {
        struct mcp_status status = mcp_status(mcp, i);
        tell_state(doctor, &status);
        if (status.state == MCP_READY)
            tell_tools(doctor, mcp, i, status.offer_count);
    }
    mcp_close(mcp);
    loop_free(loop);
    beneath_close(root);
}

static void tool_servers(struct doctor *doctor)
{
    const struct option_list *files = &doctor->options->mcp;
    for (size_t i = 0; i < files->count; i++) {
        struct err err = ERR_INIT;
        if (!config_add_mcp(doctor->config, files->items[i], &err))
            continue;
        if (err.line)
            tell(doctor, FINDING_FAIL, "MCP server", "%s:%ld: %s", files->items[i], err.line, err.text);
        else
            tell(doctor, FINDING_FAIL, "MCP server", "%s: %s", files->items[i], err.text);
    }
    size_t count = doctor->config->mcp.count;
    if (count && isatty(STDOUT_FILENO)) { /* starting servers may take a while */
        tell(doctor, FINDING_OK, "MCP server", "starting %zu, %d s at most%s", count, SERVERS_WAIT_S, text_ellipsis());
        cli_out_flush(&doctor->output);
    }
    try_servers(doctor);
}

static void tell_wrong(void *user, const char *text)
{
    tell(user, FINDING_WARN, "config", "%s", text);
}

static void tell_skill(void *user, const char *text)
{
    tell(user, FINDING_WARN, "skills", "%s", text);
}

/* Checks the environment variables that "workspace.env" needs: without them no program runs. */
static void variables(struct doctor *doctor)
{
    const struct config_workspace *said = &doctor->config->workspace;
    for (size_t i = 0; i < said->env_lacking_count; i++)
        tell(doctor, FINDING_FAIL, "config",
             "%s:%ld: \"workspace.env\": \"%s\" needs the variable %s, which is not set: programs cannot run",
             doctor->config->path, said->env_lacking[i].line, said->env_lacking[i].key, said->env_lacking[i].name);
}

/* Checks a model without a request to it. The command that prints its key is not run, because it may ask for a
 * password. */
static void live_model(struct doctor *doctor, const struct config_model *model)
{
    const char *variable = model->key_env;
    if (!variable && !model->key_command && !model->base_url)
        variable = dialect_find(model->provider)->usual_env;
    if (!model->model)
        tell(doctor, FINDING_FAIL, "model", "%s: no \"model\" (the provider's name for it)", model->name);
    else if (variable && !(getenv(variable) && *getenv(variable)))
        tell(doctor, FINDING_FAIL, "model", "%s: no key (set the environment variable %s)", model->name, variable);
    else
        tell(doctor, FINDING_OK, "model", "%s, %s of %s", model->name, model->model, model->provider);
}

/* Checks the config file and its models and web settings. */
static void settings(struct doctor *doctor)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *usual = config_default_path();
    const char *path = doctor->options->config ? doctor->options->config : usual;
    const struct config *config = doctor->config = config_load(doctor->options->config, &err);
    if (!config) {
        if (err.line)
            tell(doctor, FINDING_FAIL, "config", "%s:%ld: %s", path, err.line, err.text);
        else
            tell(doctor, FINDING_FAIL, "config", "%s", err.text);
        return;
    }
    struct theme theme;
    if (config->theme && theme_load(&theme, config->theme, &err))
        tell(doctor, FINDING_FAIL, "config", "%s:%ld: %s", path, config->theme_line, err.text);
    else if (config->path)
        tell(doctor, FINDING_OK, "config", "%s", config->path);
    else
        tell(doctor, FINDING_OK, "config", "none; none is needed (%s)", path);

    const struct config_model *model = config->model ? config_model(config, config->model) : NULL;
    if (!config->model)
        tell(doctor, FINDING_WARN, "model", "none configured (keyturn help config; keyturn demo needs none)");
    else if (model && strcmp(model->provider, CONFIG_SCRIPTED) != 0)
        live_model(doctor, model);
    else
        tell(doctor, FINDING_OK, "model", "%s", config->model);
    if (config->web_endpoint)
        tell(doctor, FINDING_OK, "web", "%s", config->web_endpoint);
    else
        tell(doctor, FINDING_WARN, "web", "no endpoint: web_search fails (\"web\": {\"endpoint\": ...})");
    setup_check_folders(config, tell_wrong, doctor);
    setup_check_commands(config, tell_wrong, doctor);
    variables(doctor);
    setup_check_skills(config, ".", tell_skill, doctor);
    tool_servers(doctor);
}

static void folder(struct doctor *doctor, const char *what, enum file_xdg kind)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = file_xdg_path(kind, "");
    if (file_mkdirs(path, 0700, &err))
        tell(doctor, FINDING_FAIL, what, "%s", err.text);
    else if (access(path, W_OK | X_OK))
        tell(doctor, FINDING_FAIL, what, "cannot write in %s", path);
    else
        tell(doctor, FINDING_OK, what, "%s", path);
}

static void database(struct doctor *doctor)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = file_xdg_path(FILE_DATA, "keyturn.db");
    struct store *store = store_open(path, &err);
    if (store)
        tell(doctor, FINDING_OK, "database", "%s", path);
    else
        tell(doctor, FINDING_WARN, "database",
             "%s%s%s (runs work without memory; move the file away to start a new one)",
             strstr(err.text, path) ? "" : path, strstr(err.text, path) ? "" : ": ", err.text);
    store_close(store);
}

static void kernel(struct doctor *doctor)
{
    struct err err = ERR_INIT;
    struct beneath *root = beneath_open("/", &err);
    int fd = root ? beneath_openat(root, ".", O_RDONLY | O_DIRECTORY, 0, &err) : -1;
    if (fd >= 0)
        tell(doctor, FINDING_OK, "kernel", "openat2 keeps tools inside their workspace");
    else
        tell(doctor, FINDING_FAIL, "kernel", "openat2 does not work: %s (Linux 5.6 or newer is needed)", err.text);
    if (fd >= 0)
        close(fd);
    beneath_close(root);
}

static void on_tried(void *user)
{
    loop_stop(user);
}

/* Tests the sandbox for scripts by running a script in it. */
static void try_sandbox(struct doctor *doctor, const struct sandbox_choice *sandbox)
{
    struct err err = ERR_INIT;
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "boxes");
    struct scratch_dirs *scratch = scratch_dirs_open(folder, &err);
    if (!scratch) {
        tell(doctor, FINDING_WARN, "sandbox", "%s: scripts cannot run", err.text);
        return;
    }
    struct loop *loop = loop_new(clock_system());
    struct self_test test;
    self_test_start(&test, loop, scratch, &sandbox->spec, true, on_tried, loop);
    loop_run(loop);
    bool works = test.result == SELF_TEST_WORKS;
    tell(doctor, works ? FINDING_OK : FINDING_WARN, "sandbox", "%s: %s%s", sandbox->spec.engine->name, test.text.buf,
         test.result == SELF_TEST_FAILED ? " (scripts cannot run; keyturn engines tests the others)" : "");
    self_test_end(&test);
    loop_free(loop);
    scratch_dirs_close(scratch);
}

static const char *const what_holds[] = {
    [HOLDER_GROUP] = "a control group limits memory_mb, cpu_percent and pids for all processes of a program together",
    [HOLDER_CONTAINER] = "the container limits memory_mb, cpu_percent and pids for all processes of a program together",
    [HOLDER_SCOPE] = "a systemd user scope limits memory_mb and pids for all processes of a program together, and "
                     "cpu_percent where systemd may",
    [HOLDER_WATCH] =
        "no control group. Keyturn sums the memory of all processes of a program every 100 ms and kills the program "
        "above memory_mb. Unmapped shared memory is not counted, so a hostile program can exceed it. pids limits all "
        "processes together, cpu_percent each process",
};

/* Prints what limits a program that uses too many resources. */
static void bounds(struct doctor *doctor, const struct program_self_test *test)
{
    const char *name = test->engine->name, *says = test->says;
    enum program_holder holder = test->ignores ? HOLDER_WATCH : sandbox_program_holder(test->engine);
    if (test->engine->unsafe)
        tell(doctor, FINDING_WARN, "programs", "%s: UNSAFE: programs run with your rights, so each one needs approval",
             name);
    tell(doctor, says || holder == HOLDER_WATCH ? FINDING_WARN : FINDING_OK, "programs", "%s: %s%s%s", name,
         what_holds[holder], says ? "; last line: " : "", says ? says : "");
    if (holder == HOLDER_WATCH && test->engine->program->cgroup)
        tell(doctor, FINDING_WARN, "programs", "a systemd user scope: %s",
             scope_state() == SCOPE_NO_SYSTEMD ? "untested: no systemd runs for this user"
                                               : "not used: it limits no memory on this machine");
}

/* Prints the hosts that programs reach through Keyturn. The engine itself gives them no network. */
static void reach(struct doctor *doctor, const struct network_rules *rules)
{
    CLEANUP(strbuf) struct strbuf list = STRBUF_INIT;
    for (size_t i = 0; i < rules->count && i < HOSTS_SHOWN; i++) {
        strbuf_addstr(&list, i ? ", " : "");
        network_rule_write(&rules->items[i], &list);
    }
    if (rules->count > HOSTS_SHOWN)
        strbuf_addf(&list, " and %zu more", rules->count - HOSTS_SHOWN);
    if (rules->count)
        tell(doctor, FINDING_OK, "network", "programs may reach %s%s", list.buf,
             strcmp(list.buf, "*") == 0 ? ": every public host" : "");
}

/* Prints the user id of sandboxed code on this machine. */
static void tell_user(struct doctor *doctor)
{
    const struct sandbox_user *user = sandbox_user();
    if (user)
        tell(doctor, FINDING_OK, "user",
             "root's sandboxes run as uid %u (a user " SANDBOX_USER_NAME " changes that); "
             "the engine none runs as root",
             (unsigned)user->uid);
    else if (geteuid() == 0)
        tell(doctor, FINDING_WARN, "user",
             "sandboxes run as uid 0: this user namespace has no uid %u, or forbids leaving its groups",
             (unsigned)sandbox_user_always()->uid);
    else
        tell(doctor, FINDING_OK, "user", "sandboxes run as you, uid %u", (unsigned)geteuid());
}

/* Tests the sandbox for programs by running one. It is the one that the config file names for them, or that of
 * scripts. */
static void programs(struct doctor *doctor, const struct sandbox_choice *sandbox)
{
    struct err err = ERR_INIT;
    const struct config_workspace *said = doctor->config ? &doctor->config->workspace : NULL;
    const char *name = said ? said->engine : NULL;
    const struct sandbox_engine *engine =
        name ? sandbox_program_engine(&sandbox->engines, name, &err) : sandbox->spec.engine;
    if (name && !engine)
        tell(doctor, FINDING_FAIL, "programs", "\"workspace.engine\": %s", err.text);
    else if (!engine || !engine->program)
        tell(doctor, FINDING_WARN, "programs", "no sandbox: programs cannot run");
    if (!engine || !engine->program)
        return;
    struct program_self_test test = {.engine = engine};
    if (said) {
        test.network = said->network;
        test.limits = setup_program_limits(said);
    }
    if (engine->unsafe && test.network.count)
        tell(doctor, FINDING_WARN, "programs", "%s isolates nothing: \"workspace.network\" limits no program there",
             engine->name);
    else
        reach(doctor, &test.network);
    if (program_self_test_run(&test, &err))
        tell(doctor, name ? FINDING_FAIL : FINDING_WARN, "programs", "%s: programs cannot run: %s", engine->name,
             err.text);
    else
        bounds(doctor, &test);
    program_self_test_release(&test);
}

static void sandboxes(struct doctor *doctor)
{
    struct err err = ERR_INIT;
    struct sandbox_choice sandbox = {0};
    CLEANUP(free) char *path = sandbox_engines_default_path();
    CLEANUP(free) char *harness = sandbox_harness_path();
    if (access(harness, X_OK))
        tell(doctor, FINDING_WARN, "harness", "%s does not run, so scripts cannot run", harness);
    else
        tell(doctor, FINDING_OK, "harness", "%s", harness);
    if (sandbox_engines_load(&sandbox.engines, path, &err))
        tell(doctor, FINDING_FAIL, "engines", "%s:%ld: %s", path, err.line, err.text);
    else if (!(sandbox.spec.engine = sandbox_engines_choose(&sandbox.engines)))
        tell(doctor, FINDING_WARN, "sandbox",
             "neither bwrap, podman nor docker is in PATH: scripts cannot run (install bubblewrap)");
    else
        try_sandbox(doctor, &sandbox);
    tell_user(doctor);
    programs(doctor, &sandbox);
    sandbox_choice_close(&sandbox);
}

int cmd_doctor(const struct options *options)
{
    struct doctor doctor = {.options = options, .width = text_terminal_width(STDOUT_FILENO, SIZE_MAX)};
    cli_out_init(&doctor.output, STDOUT_FILENO);
    tell(&doctor, FINDING_OK, "keyturn", "%s", KEYTURN_VERSION);
    terminal(&doctor);
    settings(&doctor);
    folder(&doctor, "data", FILE_DATA);
    folder(&doctor, "state", FILE_STATE);
    folder(&doctor, "cache", FILE_CACHE);
    database(&doctor);
    kernel(&doctor);
    sandboxes(&doctor);
    int status = cli_out_flush(&doctor.output) ? cli_out_error(&doctor.output)
                 : doctor.failed               ? STATUS_FAILED
                                               : STATUS_DONE;
    cli_out_release(&doctor.output);
    config_free(doctor.config);
    return status;
}
