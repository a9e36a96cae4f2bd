#include "sandbox.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "say.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* The name was given with --engine, or as what keyturn engines is to try: the complaint shows it as it was typed. */
static int find_engine(struct sandbox *sandbox, const struct options *options)
{
    const char *text = options->engine, *option = options->command == COMMAND_ENGINES ? "" : "--engine ";
    size_t len = strcspn(text, ":");
    sandbox->name = xmemdup0(text, len);
    if (text[len])
        sandbox->host = xstrdup(text + len + 1);
    sandbox->spec.host = sandbox->host && *sandbox->host ? sandbox->host : NULL;
    sandbox->spec.engine = sandbox_engines_find(&sandbox->engines, sandbox->name);
    const struct sandbox_engine *engine = sandbox->spec.engine;
    if (engine && text[len] && !sandbox_engine_uses(engine, "host") && !sandbox_engine_uses(engine, "host..."))
        return say_error(STATUS_USAGE, "%s%s: %s takes nothing behind a colon (leave it out)", option, text,
                         engine->name);
    if (engine)
        return 0;
    struct nearest near = nearest_to(sandbox->name);
    for (size_t i = 0; i < sandbox->engines.count; i++)
        nearest_offer(&near, sandbox->engines.items[i].name);
    if (near.best)
        return say_error(STATUS_USAGE, "%s%s: there is no such sandbox (did you mean %s?)", option, text, near.best);
    return say_error(STATUS_USAGE, "%s%s: there is no such sandbox (keyturn engines lists them)", option, text);
}

/* A path on another machine is for that machine to judge. */
static int find_tools(struct sandbox *sandbox, const char *folder)
{
    struct stat st;
    const struct sandbox_engine *engine = sandbox->spec.engine;
    if (engine && engine->remote) {
        sandbox->tools = xstrdup(folder);
    } else {
        if (stat(folder, &st))
            return say_error(STATUS_USAGE, "--tools %s: %s (name a folder)", folder, strerror(errno));
        if (!S_ISDIR(st.st_mode))
            return say_error(STATUS_USAGE, "--tools %s: this is no folder (name one)", folder);
        sandbox->tools = realpath(folder, NULL);
    }
    sandbox->spec.tools = sandbox->tools;
    return 0;
}

int sandbox_open(struct sandbox *sandbox, const struct options *options)
{
    *sandbox = (struct sandbox){0};
    struct err err = ERR_INIT;
    CLEANUP(free) char *path = sandbox_engines_default_path();
    if (sandbox_engines_load(&sandbox->engines, path, &err))
        return say_file_error(STATUS_USAGE, path, &err);
    int status = options->engine ? find_engine(sandbox, options) : 0;
    if (!options->engine)
        sandbox->spec.engine = sandbox_engines_choose(&sandbox->engines);
    if (!status && options->tools)
        status = find_tools(sandbox, options->tools);
    sandbox->secrets = xcalloc(options->secrets.count + 1, sizeof(*sandbox->secrets));
    for (size_t i = 0; i < options->secrets.count; i++)
        sandbox->secrets[i] = xstrdup(options->secrets.items[i]);
    sandbox->spec.secrets = (const char *const *)sandbox->secrets;
    return status;
}

void sandbox_close(struct sandbox *sandbox)
{
    sandbox_engines_release(&sandbox->engines);
    argv_free(sandbox->secrets);
    free(sandbox->name);
    free(sandbox->host);
    free(sandbox->tools);
}

struct pool *sandbox_pool(const struct sandbox *sandbox, struct loop *loop, size_t size, size_t overflow)
{
    if (!sandbox->spec.engine)
        return NULL;
    CLEANUP(free) char *folder = file_xdg_path(FILE_CACHE, "boxes");
    struct pool_options options = {
        .loop = loop, .spec = &sandbox->spec, .size = size, .overflow = overflow, .lazy = true, .folder = folder};
    return pool_new(&options, NULL);
}
