/* Reads engines from JSON: the built-in ones and the user's engines.json. One table of keys; errors name the line. */

#include "base/doc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "engines.h"
#include "engines_program.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define ENGINES_BYTES_MAX (1u << 20)

struct engines_reader {
    const char *name; /* of the current engine */
    struct sandbox_engine *engine;
    struct err *err;
};

/* Adds the line of the value to the error. */
static int at_line(const struct engines_reader *reading, const struct doc *value)
{
    if (reading->err)
        reading->err->line = doc_line(value);
    return -1;
}

static int wrong(const struct engines_reader *reading, const struct doc *value, const char *key, const char *must)
{
    err_set(reading->err, "\"%s.%s\" must be %s", reading->name, key, must);
    return at_line(reading, value);
}

static int read_list(struct engines_reader *reading, const struct doc *value, const char *key, char ***list)
{
    if (doc_type(value) != DOC_LIST)
        return wrong(reading, value, key, "a list of strings");
    char **items = xcalloc(doc_count(value) + 1, sizeof(*items));
    size_t count = 0;
    doc_each (item, value) {
        int failed = doc_type(item) != DOC_TEXT ? wrong(reading, item, key, "a list of strings") : 0;
        if (!failed && sandbox_check_argument(doc_text(item), reading->err)) {
            err_prefix(reading->err, "\"%s.%s\"", reading->name, key);
            failed = at_line(reading, item);
        }
        if (failed) {
            argv_free(items);
            return -1;
        }
        items[count++] = xstrdup(doc_text(item));
    }
    *list = items;
    return 0;
}

static int take_about(struct engines_reader *reading, const struct doc *value)
{
    if (doc_type(value) != DOC_TEXT)
        return wrong(reading, value, "about", "a string");
    reading->engine->about = xstrdup(doc_text(value));
    return 0;
}

static int take_argv(struct engines_reader *reading, const struct doc *value)
{
    if (read_list(reading, value, "argv", &reading->engine->argv))
        return -1;
    return *reading->engine->argv && **reading->engine->argv ? 0 : wrong(reading, value, "argv", "a command");
}

static int take_stop(struct engines_reader *reading, const struct doc *value)
{
    if (read_list(reading, value, "stop", &reading->engine->stop))
        return -1;
    return *reading->engine->stop && **reading->engine->stop ? 0 : wrong(reading, value, "stop", "a command");
}

/* false: the engine cannot receive secrets. */
static int take_secret(struct engines_reader *reading, const struct doc *value)
{
    reading->engine->no_secrets = doc_type(value) == DOC_FALSE;
    if (doc_type(value) == DOC_FALSE)
        return 0;
    if (doc_type(value) != DOC_LIST)
        return wrong(reading, value, "secret", "a list of strings, or false");
    return read_list(reading, value, "secret", &reading->engine->secret);
}

static int take_tools(struct engines_reader *reading, const struct doc *value)
{
    return read_list(reading, value, "tools", &reading->engine->tools);
}

static int take_host(struct engines_reader *reading, const struct doc *value)
{
    return read_list(reading, value, "host", &reading->engine->host);
}

static int take_env(struct engines_reader *reading, const struct doc *value)
{
    return read_list(reading, value, "env", &reading->engine->env);
}

static int take_retry(struct engines_reader *reading, const struct doc *value)
{
    const struct doc *on = doc_get(value, "on"), *with = doc_get(value, "with");
    if (doc_type(value) != DOC_OBJECT || doc_count(value) != 2 || !on || doc_type(on) != DOC_TEXT || !*doc_text(on) ||
        !with)
        return wrong(reading, value, "retry", "an object: {\"on\": \"text of the error\", \"with\": [arguments]}");
    if (read_list(reading, with, "retry.with", &reading->engine->retry))
        return -1;
    reading->engine->retry_on = xstrdup(doc_text(on));
    return 0;
}

static int take_truth(struct engines_reader *reading, const struct doc *value, const char *key, bool *truth)
{
    if (doc_type(value) != DOC_TRUE && doc_type(value) != DOC_FALSE)
        return wrong(reading, value, key, "true or false");
    *truth = doc_type(value) == DOC_TRUE;
    return 0;
}

static int take_ends(struct engines_reader *reading, const struct doc *value)
{
    return take_truth(reading, value, "ends_with_us", &reading->engine->ends_with_us);
}

static int take_unsafe(struct engines_reader *reading, const struct doc *value)
{
    return take_truth(reading, value, "unsafe", &reading->engine->unsafe);
}

static int take_as_user(struct engines_reader *reading, const struct doc *value)
{
    return take_truth(reading, value, "as_user", &reading->engine->as_user);
}

static int take_remote(struct engines_reader *reading, const struct doc *value)
{
    return take_truth(reading, value, "remote", &reading->engine->remote);
}

/* `within`: where the key is in the engine: "" or "program.". `near`: the known keys there. */
static int unknown_key(const struct engines_reader *reading, const struct doc *value, const char *within,
                       const struct nearest *near)
{
    if (near->best)
        err_set(reading->err, "unknown key \"%s.%s%.60s\" (did you mean \"%s\"?)", reading->name, within,
                doc_key(value), near->best);
    else
        err_set(reading->err, "unknown key \"%s.%s%.60s\"; see keyturn-sandbox(7)", reading->name, within,
                doc_key(value));
    return at_line(reading, value);
}

/* `path`: of the object, "mybox.program."; "" for the file. */
static int refuse_twins(const struct engines_reader *reading, const struct doc *object, const char *path)
{
    struct hash_map names = {0};
    const struct doc *twin = NULL;
    doc_each (member, object) {
        if (!twin && hash_map_has(&names, doc_key(member)))
            twin = member;
        hash_map_put(&names, doc_key(member), 1);
    }
    hash_map_release(&names);
    if (!twin)
        return 0;
    err_set(reading->err, "duplicate key \"%s%.60s\"; remove one", path, doc_key(twin));
    return at_line(reading, twin);
}

static bool has_word(char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

/* Reads a vector, or an object with a vector and its options. */
static int take_program(struct engines_reader *reading, const struct doc *value)
{
    struct sandbox_program *program = reading->engine->program = xcalloc(1, sizeof(*program));
    const struct {
        const char *name;
        char ***list;
    } lists[] = {{"argv", &program->argv},
                 {"visible", &program->visible},
                 {"variable", &program->variable},
                 {"tty", &program->tty},
                 {"system", &program->system},
                 {"user", &program->user},
                 {"user_root", &program->user_root},
                 {"ask", &program->ask},
                 {"stop", &program->stop},
                 {"lent", &program->bind_mounts},
                 {"cpu", &program->cpu},
                 {"etc", &program->etc},
                 {"filter", &program->filter}};
    static const char *const others[] = {"control", "cgroup", "workspace"};
    if (doc_type(value) != DOC_OBJECT)
        return wrong(reading, value, "program", "an object with an \"argv\"");
    CLEANUP(free) char *path = xasprintf("%s.program.", reading->name);
    if (refuse_twins(reading, value, path))
        return -1;
    doc_each (member, value) {
        CLEANUP(free) char *key = xasprintf("program.%s", doc_key(member));
        struct nearest near = nearest_to(doc_key(member));
        size_t i = 0;
        int failed = 0;
        for (size_t k = 0; k < COUNT_OF(lists); k++)
            nearest_offer(&near, lists[k].name);
        for (size_t k = 0; k < COUNT_OF(others); k++)
            nearest_offer(&near, others[k]);
        while (i < COUNT_OF(lists) && strcmp(lists[i].name, doc_key(member)) != 0)
            i++;
        if (i < COUNT_OF(lists))
            failed = read_list(reading, member, key, lists[i].list);
        else if (strcmp(doc_key(member), "control") == 0)
            failed = take_truth(reading, member, key, &program->control);
        else if (strcmp(doc_key(member), "cgroup") == 0)
            failed = take_truth(reading, member, key, &program->cgroup);
        else if (strcmp(doc_key(member), "workspace") == 0 && doc_type(member) == DOC_TEXT)
            program->workspace = xstrdup(doc_text(member));
        else if (strcmp(doc_key(member), "workspace") == 0)
            failed = wrong(reading, member, key, "a string");
        else
            failed = unknown_key(reading, member, "program.", &near);
        if (failed)
            return -1;
    }
    if (program->filter &&
        !has_word(program->argv, "{filter...}")) /* the program would silently start without a filter */
        return wrong(reading, value, "program.filter", "left out: \"argv\" has no {filter...}");
    return program->argv && program->argv[0] ? 0 : wrong(reading, value, "program", "an object with an \"argv\"");
}

static const struct engine_key {
    const char *name;
    int (*take)(struct engines_reader *reading, const struct doc *value);
} keys[] = {
    {"about", take_about},     {"argv", take_argv},     {"stop", take_stop},       {"secret", take_secret},
    {"tools", take_tools},     {"host", take_host},     {"env", take_env},         {"retry", take_retry},
    {"unsafe", take_unsafe},   {"remote", take_remote}, {"program", take_program}, {"ends_with_us", take_ends},
    {"as_user", take_as_user},
};

static void engine_release(struct sandbox_engine *engine)
{
    free(engine->name);
    free(engine->about);
    free(engine->retry_on);
    argv_free(engine->argv);
    argv_free(engine->stop);
    argv_free(engine->secret);
    argv_free(engine->tools);
    argv_free(engine->host);
    argv_free(engine->env);
    argv_free(engine->retry);
    sandbox_program_free(engine->program);
}

/* The user types a name after --engine, where a colon ends it, and sees it in lists. */
static bool is_good_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    return len && len <= 40 && !name[len] && isalnum((unsigned char)name[0]);
}

static int read_engine(struct engines_reader *reading, const struct doc *value)
{
    if (!is_good_name(doc_key(value))) {
        err_set(reading->err, "invalid engine name \"%.60s\"; use letters, digits and -", doc_key(value));
        return at_line(reading, value);
    }
    if (doc_type(value) != DOC_OBJECT) {
        err_set(reading->err, "\"%s\" must be an object", doc_key(value));
        return at_line(reading, value);
    }
    CLEANUP(free) char *path = xasprintf("%s.", reading->name);
    if (refuse_twins(reading, value, path))
        return -1;
    doc_each (member, value) {
        struct nearest near = nearest_to(doc_key(member));
        size_t i = 0;
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            nearest_offer(&near, keys[k].name);
        while (i < COUNT_OF(keys) && strcmp(keys[i].name, doc_key(member)) != 0)
            i++;
        if (i == COUNT_OF(keys))
            return unknown_key(reading, member, "", &near);
        if (keys[i].take(reading, member))
            return -1;
    }
    if (!reading->engine->argv) {
        err_set(reading->err, "the engine \"%s\" has no \"argv\"", doc_key(value));
        return at_line(reading, value);
    }
    return 0;
}

static void put_engine(struct sandbox_engines *engines, struct sandbox_engine *engine)
{
    for (size_t i = 0; i < engines->count; i++)
        if (strcmp(engines->items[i].name, engine->name) == 0) {
            engine_release(&engines->items[i]);
            engines->items[i] = *engine;
            return;
        }
    GROW(engines->items, engines->count, engines->room);
    engines->items[engines->count++] = *engine;
}

int sandbox_engines_read(struct sandbox_engines *engines, const char *text, size_t len, bool from_user, struct err *err)
{
    CLEANUP(doc) struct doc *top = doc_parse(text, len, err);
    struct engines_reader reading = {.err = err};
    if (!top)
        return -1;
    if (doc_type(top) != DOC_OBJECT) {
        err_set(err, "the file must hold one object in {}, with an engine under each name");
        return at_line(&reading, top);
    }
    if (refuse_twins(&reading, top, ""))
        return -1;
    doc_each (value, top) {
        struct sandbox_engine engine = {.from_user = from_user};
        reading.engine = &engine;
        reading.name = doc_key(value);
        engine.name = xstrdup(doc_key(value));
        if (read_engine(&reading, value)) {
            engine_release(&engine);
            return -1;
        }
        if (!engine.about)
            engine.about = xstrdup("of engines.json");
        put_engine(engines, &engine);
    }
    return 0;
}

int sandbox_engines_load(struct sandbox_engines *engines, const char *path, struct err *err)
{
    *engines = (struct sandbox_engines){0};
    struct err reason = ERR_INIT;
    if (sandbox_engines_read(engines, sandbox_engine_bwrap, strlen(sandbox_engine_bwrap), false, &reason) ||
        sandbox_engines_read(engines, sandbox_engines_other, strlen(sandbox_engines_other), false, &reason))
        BUG("built-in engines: %s", reason.text);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!path)
        return 0;
    if (file_read(path, &text, ENGINES_BYTES_MAX, &reason)) {
        if (reason.code == ENOENT || reason.code == ENOTDIR)
            return 0;
        if (err)
            *err = reason;
        return -1;
    }
    if (text.buf[strspn(text.buf, " \t\r\n")] == '\0' && strlen(text.buf) == text.len)
        return 0; /* a file that was just created and is still empty */
    return sandbox_engines_read(engines, text.buf, text.len, true, err);
}

void sandbox_engines_release(struct sandbox_engines *engines)
{
    for (size_t i = 0; i < engines->count; i++)
        engine_release(&engines->items[i]);
    free(engines->items);
    *engines = (struct sandbox_engines){0};
}
