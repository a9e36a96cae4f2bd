/* Builds the command line and environment of a sandbox engine for one box (engines.h).
 *
 * An engine is data (bwrap.c, containers.c, engines.json). This file replaces its placeholders ({tools}, {name},
 * {secrets...}), finds and chooses engines, and copies box options. engines_program.c does the same for programs. */

#include "engines.h"
#include "base/child.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "engines_internal.h"
#include "user.h"
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static const char *fill_harness(const struct filling *f)
{
    return f->harness;
}

static const char *fill_image(const struct filling *f)
{
    return f->spec->image ? f->spec->image : BOX_IMAGE;
}

static const char *fill_tools(const struct filling *f)
{
    return f->spec->tools;
}

static const char *fill_workspace(const struct filling *f)
{
    return f->spec->workspace;
}

static const char *fill_memory_mb(const struct filling *f)
{
    return f->memory_mb;
}

static const char *fill_pids(const struct filling *f)
{
    return f->pids;
}

static const char *fill_name(const struct filling *f)
{
    return f->name;
}

static const char *fill_host(const struct filling *f)
{
    return f->spec->host;
}

static const char *fill_secret(const struct filling *f)
{
    return f->secret;
}

static const char *fill_launcher(const struct filling *f)
{
    return f->launcher;
}

static const char *fill_path(const struct filling *f)
{
    return f->path;
}

static const char *fill_place(const struct filling *f)
{
    return f->place;
}

static const char *fill_cpus(const struct filling *f)
{
    return *f->cpus ? f->cpus : NULL;
}

static const char *fill_variable(const struct filling *f)
{
    return f->variable;
}

static const char *fill_user(const struct filling *f)
{
    return f->user;
}

static const char *fill_tmp_bytes(const struct filling *f)
{
    return *f->tmp_bytes ? f->tmp_bytes : NULL;
}

static const char *fill_shm_bytes(const struct filling *f)
{
    return *f->shm_bytes ? f->shm_bytes : NULL;
}

static const char *fill_uid(const struct filling *f)
{
    return f->uid;
}

static const char *fill_gid(const struct filling *f)
{
    return f->gid;
}

static const struct placeholder {
    const char *name;
    const char *(*fill)(const struct filling *filling);
    const char *missing; /* what the user can do */
} places[] = {
    {"harness", fill_harness, "install it beside keyturn"},
    {"image", fill_image, ""},
    {"tools", fill_tools, "add --tools DIR, or write {tools...}"},
    {"workspace", fill_workspace, "create a folder for it"},
    {"memory_mb", fill_memory_mb, ""},
    {"pids", fill_pids, ""},
    {"name", fill_name, ""},
    {"host", fill_host, "add one after a colon, as in --engine ssh:HOST"},
    {"secret", fill_secret, "it is valid in \"secret\" only"},
    {"launcher", fill_launcher, "it is valid in \"program\" only"},
    {"path", fill_path, "it is valid in \"program.visible\" and \"program.lent\" only"},
    {"place", fill_place, "it is valid in \"program.lent\" only"},
    {"cpus", fill_cpus, "it is valid in \"program.cpu\" only"},
    {"variable", fill_variable, "it is valid in \"program.variable\" only"},
    {"user", fill_user, "it is valid in \"program\" only"},
    {"tmp_bytes", fill_tmp_bytes, "it is valid in \"program\" only"},
    {"shm_bytes", fill_shm_bytes, "it is valid in \"program\" only"},
    {"uid", fill_uid, ""},
    {"gid", fill_gid, ""},
};

/* True for arguments that become several arguments, or none. */
static bool is_list(const char *argument)
{
    static const char *const lists[] = {
        "{secrets...}", "{tools...}", "{host...}", "{degraded...}", "{visible...}", "{variables...}", "{tty...}",
        "{system...}",  "{user...}",  "{lent...}", "{cpu...}",      "{command...}", "{filter...}",    "{etc...}"};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        if (strcmp(lists[i], argument) == 0)
            return true;
    return false;
}

static const struct placeholder *find_placeholder(const char *name, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (strlen(places[i].name) == len && memcmp(places[i].name, name, len) == 0)
            return &places[i];
    return NULL;
}

/* Adds the text in single quotes, where a shell changes nothing except a single quote. */
static void add_quoted(struct strbuf *out, const char *text)
{
    strbuf_addch(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            strbuf_addstr(out, "'\\''");
        else
            strbuf_addch(out, *text);
    strbuf_addch(out, '\'');
}

/* Adds the argument with its placeholders filled in. Without a filling it only checks the argument. */
static int fill(struct strbuf *out, const char *argument, const struct filling *filling, struct err *err)
{
    for (const char *at = argument; *at;) {
        if ((at[0] == '{' || at[0] == '}') && at[1] == at[0]) {
            strbuf_addch(out, *at);
            at += 2;
            continue;
        }
        if (*at != '{' && *at != '}') {
            strbuf_addch(out, *at++);
            continue;
        }
        size_t len = strcspn(at + 1, "{}");
        if (*at == '}' || at[1 + len] != '}')
            return err_set(err, "single brace in \"%.80s\"; write {{ or }} for a literal brace", argument);
        size_t name = strcspn(at + 1, ":{}");
        bool quoted = len - name == 7 && memcmp(at + 1 + name, ":quoted", 7) == 0;
        const struct placeholder *placeholder = name == len || quoted ? find_placeholder(at + 1, name) : NULL;
        if (!placeholder)
            return err_set(err, "unknown placeholder {%.*s}; write {{%.*s}} for literal braces",
                           (int)(len < 60 ? len : 60), at + 1, (int)(len < 60 ? len : 60), at + 1);
        const char *value = filling ? placeholder->fill(filling) : "";
        if (!value)
            return err_set(err, "the engine %s needs a %s (%s)", filling->spec->engine->name, placeholder->name,
                           placeholder->missing);
        if (quoted)
            add_quoted(out, value);
        else
            strbuf_addstr(out, value);
        at += len + 2;
    }
    return 0;
}

int sandbox_check_argument(const char *argument, struct err *err)
{
    CLEANUP(strbuf) struct strbuf unused = STRBUF_INIT;
    return is_list(argument) ? 0 : fill(&unused, argument, NULL, err);
}

/* ---- growing vectors ---- */

/* Takes ownership of the text and keeps the NULL at the end. */
void vector_push(struct vector *vector, char *take_text)
{
    GROW(vector->items, vector->count + 1, vector->room);
    vector->items[vector->count++] = take_text;
    vector->items[vector->count] = NULL;
}

void vector_cleanup(struct vector *vector)
{
    argv_free(vector->items);
}

int vector_push_filled(struct vector *vector, const char *argument, const struct filling *filling, struct err *err)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (fill(&text, argument, filling, err))
        return -1;
    vector_push(vector, strbuf_detach(&text, NULL));
    return 0;
}

int vector_push_all(struct vector *vector, char *const *arguments, const struct filling *filling, struct err *err)
{
    for (; arguments && *arguments; arguments++)
        if (vector_push_filled(vector, *arguments, filling, err))
            return -1;
    return 0;
}

/* ---- another user ---- */

void filling_set_user(struct filling *filling)
{
    const struct sandbox_user *user = sandbox_user_always();
    snprintf(filling->uid, sizeof(filling->uid), "%u", (unsigned)user->uid);
    snprintf(filling->gid, sizeof(filling->gid), "%u", (unsigned)user->gid);
}

static void push_shown(struct vector *vector, const char *option, const char *path)
{
    CLEANUP(free) char *real = path ? realpath(path, NULL) : NULL;
    if (!real)
        return; /* the engine reports a missing path, or continues without it */
    vector_push(vector, xstrdup(option));
    vector_push(vector, xstrdup(real));
    if (path[0] != '/' || strcmp(path, real) == 0)
        return;
    vector_push(vector, xstrdup(option));
    vector_push(vector, xstrdup(path));
}

char *sandbox_path_for(const struct sandbox_engine *engine, const char *path)
{
    char *real = engine->as_user && path[0] != '/' && sandbox_user() ? realpath(path, NULL) : NULL;
    return real ? real : xstrdup(path);
}

int vector_push_program(struct vector *vector, const char *program, const struct filling *filling,
                        const struct engine_shown *shown, size_t count, struct err *err)
{
    CLEANUP(free) char *found = NULL, *launcher = NULL;
    const struct sandbox_user *user = filling->spec->engine->as_user ? sandbox_user() : NULL;
    if (!user)
        return vector_push_filled(vector, program, filling, err);
    CLEANUP(strbuf) struct strbuf name = STRBUF_INIT;
    if (fill(&name, program, filling, err))
        return -1;
    /* Resolved with Keyturn's PATH, because the engine's process may have another. */
    CLEANUP(free) char *at = child_find_program(name.buf, NULL);
    if (!(found = at ? realpath(at, NULL) : NULL)) {
        vector_push(vector, strbuf_detach(&name, NULL)); /* starting it reports that it is not installed */
        return 0;
    }
    launcher = filling->launcher ? xstrdup(filling->launcher) : launcher_path();
    const char *const words[] = {launcher, "--as", filling->uid, "--as-group", filling->gid};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        vector_push(vector, xstrdup(words[i]));
    push_shown(vector, "--show", found);
    for (size_t i = 0; i < count; i++)
        push_shown(vector, shown[i].bind_mounts ? "--lend" : "--show", shown[i].path);
    vector_push(vector, xstrdup("--"));
    vector_push(vector, steal(&found));
    return 0;
}

/* ---- secrets ---- */

static bool is_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return !*text;
}

static int check_secrets(const struct box_options *spec, struct err *err)
{
    for (const char *const *at = spec->secrets; at && *at; at++) {
        if (!is_name(*at))
            return err_set(err, "invalid secret name \"%.60s\"; use the name of an environment variable", *at);
        if (spec->engine->no_secrets)
            return err_set(err, "the engine %s cannot pass the secret %.60s", spec->engine->name, *at);
    }
    return 0;
}

static int push_secrets(struct vector *vector, struct filling filling, struct err *err)
{
    for (const char *const *at = filling.spec->secrets; at && *at; at++) {
        filling.secret = *at;
        if (vector_push_all(vector, filling.spec->engine->secret, &filling, err))
            return -1;
    }
    return 0;
}

/* ---- vectors ---- */

static int push_template(struct vector *vector, char *const *template, const struct filling *filling, struct err *err)
{
    const struct sandbox_engine *engine = filling->spec->engine;
    for (; *template; template ++) {
        int failed = 0;
        if (strcmp(*template, "{secrets...}") == 0)
            failed = push_secrets(vector, *filling, err);
        else if (strcmp(*template, "{tools...}") == 0)
            failed = filling->spec->tools ? vector_push_all(vector, engine->tools, filling, err) : 0;
        else if (strcmp(*template, "{host...}") == 0)
            failed = filling->spec->host ? vector_push_all(vector, engine->host, filling, err) : 0;
        else if (strcmp(*template, "{degraded...}") == 0)
            failed = filling->spec->allow_degraded ? vector_push_filled(vector, "--allow-degraded", filling, err) : 0;
        else
            failed = vector_push_filled(vector, *template, filling, err);
        if (failed)
            return -1;
    }
    return 0;
}

static char **make_vector(const struct box_options *spec, const char *name, char *const *template, char *const *first,
                          struct err *err)
{
    CLEANUP(free) char *said = spec->harness ? xstrdup(spec->harness) : sandbox_harness_path();
    CLEANUP(free) char *harness = sandbox_path_for(spec->engine, said);
    CLEANUP(free) char *tools = spec->tools ? sandbox_path_for(spec->engine, spec->tools) : NULL;
    struct box_options own = *spec;
    own.tools = tools;
    struct filling filling = {.spec = &own, .name = name, .harness = harness};
    const struct engine_shown shown[] = {{harness, false}, {tools, true}, {spec->workspace, false}};
    filling_set_user(&filling);
    snprintf(filling.memory_mb, sizeof(filling.memory_mb), "%u", spec->memory_mb ? spec->memory_mb : BOX_MEMORY_MB);
    snprintf(filling.pids, sizeof(filling.pids), "%u", spec->pids ? spec->pids : BOX_PIDS);
    CLEANUP(vector) struct vector vector = {0};
    /* The engine's program would read an argument with a leading dash as an option. */
    if (spec->host && spec->host[0] == '-') {
        err_set(err, "invalid host \"%.60s\"; it must not begin with -", spec->host);
        return NULL;
    }
    if (check_secrets(spec, err) || vector_push_program(&vector, template[0], &filling, shown, COUNT_OF(shown), err) ||
        vector_push_all(&vector, first, &filling, err) || push_template(&vector, template + 1, &filling, err))
        return NULL;
    return steal(&vector.items);
}

char **sandbox_engine_argv(const struct sandbox_engine *engine, const struct box_options *spec, const char *name,
                           bool again, struct err *err)
{
    struct box_options own = *spec;
    own.engine = engine;
    return make_vector(&own, name, engine->argv, again ? engine->retry : NULL, err);
}

char **sandbox_engine_stop(const struct sandbox_engine *engine, const struct box_options *spec, const char *name)
{
    struct box_options own = *spec;
    own.engine = engine;
    return engine->stop ? make_vector(&own, name, engine->stop, NULL, NULL) : NULL;
}

bool sandbox_engine_uses(const struct sandbox_engine *engine, const char *place)
{
    CLEANUP(free) char *plain = xasprintf("{%s}", place);
    CLEANUP(free) char *quoted = xasprintf("{%s:quoted}", place);
    for (char **at = engine->argv; *at; at++)
        if (strstr(*at, plain) || strstr(*at, quoted))
            return true;
    return false;
}

bool sandbox_engine_is_other_user(const struct sandbox_engine *engine)
{
    return sandbox_user() && (engine->as_user || sandbox_engine_uses(engine, "uid"));
}

/* ---- the environment ---- */

extern char **environ;

/* Variables that clients of container engines and clusters read, besides PATH and LANG. */
static const char *const usual_env[] = {
    "HOME",         "USER",       "LOGNAME",       "TMPDIR",  "XDG_*",   "DOCKER_*", "CONTAINER_HOST",
    "CONTAINERS_*", "KUBECONFIG", "SSH_AUTH_SOCK", "*_proxy", "*_PROXY", NULL,
};

static bool is_wanted(const char *const *patterns, const char *name)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return true;
    return false;
}

char **sandbox_engine_env(const struct sandbox_engine *engine, const struct box_options *spec)
{
    struct vector vector = {0};
    const char *const *patterns = engine->env ? (const char *const *)engine->env : usual_env;
    const char *path = getenv("PATH");
    /* An engine that takes none of our variables passes its environment on to the harness, where our PATH has no
     * meaning. */
    bool bare = engine->env && !engine->env[0];
    vector_push(&vector, xasprintf("PATH=%s", path && !bare ? path : "/usr/local/bin:/usr/bin:/bin"));
    vector_push(&vector, xstrdup("LANG=C.UTF-8"));
    for (char **at = environ; *at; at++) {
        CLEANUP(free) char *name = xmemdup0(*at, strcspn(*at, "="));
        if (strcmp(name, "PATH") != 0 && strcmp(name, "LANG") != 0 && is_wanted(patterns, name))
            vector_push(&vector, xstrdup(*at));
    }
    for (const char *const *at = spec->secrets; at && *at; at++) {
        const char *value = getenv(*at);
        if (value && (strcmp(*at, "PATH") != 0 && strcmp(*at, "LANG") != 0) && !is_wanted(patterns, *at))
            vector_push(&vector, xasprintf("%s=%s", *at, value));
    }
    return vector.items;
}

/* ---- specs ---- */

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

struct box_options *box_options_copy(const struct box_options *spec)
{
    struct box_options *own = xcalloc(1, sizeof(*own));
    struct vector secrets = {0};
    *own = *spec;
    own->harness = copy(spec->harness);
    own->image = copy(spec->image);
    own->host = copy(spec->host);
    own->tools = copy(spec->tools);
    own->workspace = copy(spec->workspace);
    own->folder = copy(spec->folder);
    for (const char *const *at = spec->secrets; at && *at; at++)
        vector_push(&secrets, xstrdup(*at));
    own->secrets = (const char *const *)secrets.items;
    return own;
}

void box_options_free(struct box_options *spec)
{
    if (!spec)
        return;
    free((char *)spec->harness);
    free((char *)spec->image);
    free((char *)spec->host);
    free((char *)spec->tools);
    free((char *)spec->workspace);
    free((char *)spec->folder);
    argv_free((char **)spec->secrets);
    free(spec);
}

/* ---- the list ---- */

const struct sandbox_engine *sandbox_engines_find(const struct sandbox_engines *engines, const char *name)
{
    for (size_t i = 0; i < engines->count; i++)
        if (strcmp(engines->items[i].name, name) == 0)
            return &engines->items[i];
    return NULL;
}

const struct sandbox_engine *sandbox_engines_choose(const struct sandbox_engines *engines)
{
    for (size_t i = 0; i < engines->count; i++) {
        const struct sandbox_engine *engine = &engines->items[i];
        if (engine->unsafe || engine->remote)
            continue;
        CLEANUP(free) char *program = child_find_program(engine->argv[0], NULL);
        if (program && access(program, X_OK) == 0)
            return engine;
    }
    return NULL;
}

char *sandbox_engines_default_path(void)
{
    return file_xdg_path(FILE_CONFIG, "engines.json");
}

char *sandbox_harness_path(void)
{
    const char *said = getenv("KEYTURN_HARNESS");
    if (said && *said)
        return xstrdup(said);
    CLEANUP(free) char *folder = file_program_dir();
    CLEANUP(free) char *beside = xasprintf("%s/keyturn-harness", folder);
    CLEANUP(free) char *installed = xasprintf("%s/../libexec/keyturn/keyturn-harness", folder);
    return access(beside, F_OK) && access(installed, F_OK) == 0 ? steal(&installed) : steal(&beside);
}
