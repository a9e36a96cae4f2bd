/* Reading engines, ours and the user's: one table of keys, every mistake with its line. */

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "engines.h"
#include "engines_program.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

#define ENGINES_BYTES_MAX (1u << 20)

struct reading {
    const char *text;
    const char *name; /* of the engine at hand */
    struct sandbox_engine *engine;
    struct err *err;
};

/* Gives the error that was set the line of the value. */
static int at_line(const struct reading *reading, const struct json *value)
{
    if (reading->err) {
        reading->err->line = 1;
        for (const char *at = reading->text; at < value->src; at++)
            reading->err->line += *at == '\n';
    }
    return -1;
}

static int wrong(const struct reading *reading, const struct json *value, const char *key, const char *must)
{
    err_set(reading->err, "\"%s.%s\" must be %s", reading->name, key, must);
    return at_line(reading, value);
}

static int read_list(struct reading *reading, const struct json *value, const char *key, char ***list)
{
    if (value->type != JSON_ARRAY)
        return wrong(reading, value, key, "a list of strings");
    char **items = xcalloc(value->count + 1, sizeof(*items));
    size_t count = 0;
    json_each (item, value) {
        int failed = item->type != JSON_STRING ? wrong(reading, item, key, "a list of strings") : 0;
        if (!failed && sandbox_check_argument(item->text, reading->err)) {
            err_prefix(reading->err, "\"%s.%s\"", reading->name, key);
            failed = at_line(reading, item);
        }
        if (failed) {
            argv_free(items);
            return -1;
        }
        items[count++] = xstrdup(item->text);
    }
    *list = items;
    return 0;
}

static int take_about(struct reading *reading, const struct json *value)
{
    if (value->type != JSON_STRING)
        return wrong(reading, value, "about", "a string");
    reading->engine->about = xstrdup(value->text);
    return 0;
}

static int take_argv(struct reading *reading, const struct json *value)
{
    if (read_list(reading, value, "argv", &reading->engine->argv))
        return -1;
    return *reading->engine->argv && **reading->engine->argv ? 0 : wrong(reading, value, "argv", "a command");
}

static int take_stop(struct reading *reading, const struct json *value)
{
    if (read_list(reading, value, "stop", &reading->engine->stop))
        return -1;
    return *reading->engine->stop && **reading->engine->stop ? 0 : wrong(reading, value, "stop", "a command");
}

/* false: there is no way. */
static int take_secret(struct reading *reading, const struct json *value)
{
    reading->engine->no_secrets = value->type == JSON_FALSE;
    if (value->type == JSON_FALSE)
        return 0;
    if (value->type != JSON_ARRAY)
        return wrong(reading, value, "secret", "a list of strings, or false");
    return read_list(reading, value, "secret", &reading->engine->secret);
}

static int take_tools(struct reading *reading, const struct json *value)
{
    return read_list(reading, value, "tools", &reading->engine->tools);
}

static int take_host(struct reading *reading, const struct json *value)
{
    return read_list(reading, value, "host", &reading->engine->host);
}

static int take_env(struct reading *reading, const struct json *value)
{
    return read_list(reading, value, "env", &reading->engine->env);
}

static int take_retry(struct reading *reading, const struct json *value)
{
    const struct json *on = json_get(value, "on"), *with = json_get(value, "with");
    if (value->type != JSON_OBJECT || value->count != 2 || !on || on->type != JSON_STRING || !on->len || !with)
        return wrong(reading, value, "retry", "an object: {\"on\": \"text of the error\", \"with\": [arguments]}");
    if (read_list(reading, with, "retry.with", &reading->engine->retry))
        return -1;
    reading->engine->retry_on = xstrdup(on->text);
    return 0;
}

static int take_truth(struct reading *reading, const struct json *value, bool *truth)
{
    if (value->type != JSON_TRUE && value->type != JSON_FALSE)
        return wrong(reading, value, value->key, "true or false");
    *truth = value->type == JSON_TRUE;
    return 0;
}

static int take_ends(struct reading *reading, const struct json *value)
{
    return take_truth(reading, value, &reading->engine->ends_with_us);
}

static int take_unsafe(struct reading *reading, const struct json *value)
{
    return take_truth(reading, value, &reading->engine->unsafe);
}

static int take_as_user(struct reading *reading, const struct json *value)
{
    return take_truth(reading, value, &reading->engine->as_user);
}

static int take_remote(struct reading *reading, const struct json *value)
{
    return take_truth(reading, value, &reading->engine->remote);
}

static bool has_word(char *const *list, const char *word)
{
    for (; list && *list; list++)
        if (strcmp(*list, word) == 0)
            return true;
    return false;
}

/* A vector, or an object with one and what belongs to it. */
static int take_program(struct reading *reading, const struct json *value)
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
                 {"lent", &program->lent},
                 {"cpu", &program->cpu},
                 {"etc", &program->etc},
                 {"filter", &program->filter}};
    if (value->type != JSON_OBJECT)
        return wrong(reading, value, "program", "an object with an \"argv\"");
    json_each (member, value) {
        size_t i = 0;
        int failed = 0;
        while (i < COUNT_OF(lists) && strcmp(lists[i].name, member->key) != 0)
            i++;
        if (i < COUNT_OF(lists))
            failed = *lists[i].list ? wrong(reading, member, member->key, "there once")
                                    : read_list(reading, member, member->key, lists[i].list);
        else if (strcmp(member->key, "control") == 0)
            failed = take_truth(reading, member, &program->control);
        else if (strcmp(member->key, "cgroup") == 0)
            failed = take_truth(reading, member, &program->cgroup);
        else if (strcmp(member->key, "workspace") != 0 || member->type != JSON_STRING || program->workspace)
            failed = wrong(reading, member, "program", "made of known keys (see engines_program.h)");
        else
            program->workspace = xstrdup(member->text);
        if (failed)
            return -1;
    }
    if (program->filter && !has_word(program->argv, "{filter...}")) /* it would start unfiltered, without a word */
        return wrong(reading, value, "filter", "used: \"argv\" has no {filter...}");
    return program->argv && program->argv[0] ? 0 : wrong(reading, value, "program", "an object with an \"argv\"");
}

static const struct key {
    const char *name;
    int (*take)(struct reading *reading, const struct json *value);
} keys[] = {
    {"about", take_about},     {"argv", take_argv},     {"stop", take_stop},       {"secret", take_secret},
    {"tools", take_tools},     {"host", take_host},     {"env", take_env},         {"retry", take_retry},
    {"unsafe", take_unsafe},   {"remote", take_remote}, {"program", take_program}, {"ends_with_us", take_ends},
    {"as_user", take_as_user},
};

static int unknown_key(struct reading *reading, const struct json *value)
{
    struct nearest near = nearest_to(value->key);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        nearest_offer(&near, keys[i].name);
    if (near.best)
        err_set(reading->err, "unknown key \"%s.%.60s\" (did you mean \"%s\"?)", reading->name, value->key, near.best);
    else
        err_set(reading->err, "unknown key \"%s.%.60s\" (take it out)", reading->name, value->key);
    return at_line(reading, value);
}

static int refuse_twins(const struct reading *reading, const struct json *object)
{
    struct hash_map names = {0};
    const struct json *twin = NULL;
    json_each (member, object) {
        if (!twin && hash_map_has(&names, member->key))
            twin = member;
        hash_map_put(&names, member->key, 1);
    }
    hash_map_release(&names);
    if (!twin)
        return 0;
    err_set(reading->err, "\"%.60s\" is there twice (take one of them out)", twin->key);
    return at_line(reading, twin);
}

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

/* A name is typed behind --engine, where a colon ends it, and shown. */
static bool is_good_name(const char *name)
{
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    return len && len <= 40 && !name[len] && isalnum((unsigned char)name[0]);
}

static int read_engine(struct reading *reading, const struct json *value)
{
    if (!is_good_name(value->key)) {
        err_set(reading->err, "\"%.60s\" cannot be the name of an engine (use letters, digits and -)", value->key);
        return at_line(reading, value);
    }
    if (value->type != JSON_OBJECT) {
        err_set(reading->err, "\"%s\" must be an object", value->key);
        return at_line(reading, value);
    }
    if (refuse_twins(reading, value))
        return -1;
    json_each (member, value) {
        size_t i = 0;
        while (i < COUNT_OF(keys) && strcmp(keys[i].name, member->key) != 0)
            i++;
        if (i == COUNT_OF(keys))
            return unknown_key(reading, member);
        if (keys[i].take(reading, member))
            return -1;
    }
    if (!reading->engine->argv) {
        err_set(reading->err, "the engine \"%s\" has no \"argv\"", value->key);
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
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *top = json_parse_commented(&arena, text, len, err);
    struct reading reading = {.text = text, .err = err};
    if (!top)
        return -1;
    if (top->type != JSON_OBJECT) {
        err_set(err, "the file must hold one object in {}, with an engine under each name");
        return at_line(&reading, top);
    }
    if (refuse_twins(&reading, top))
        return -1;
    json_each (value, top) {
        struct sandbox_engine engine = {.from_user = from_user};
        reading.engine = &engine;
        reading.name = value->key;
        engine.name = xstrdup(value->key);
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
    if (sandbox_engines_read(engines, sandbox_engines_builtin, strlen(sandbox_engines_builtin), false, &reason))
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
        return 0; /* a file that was only just made */
    return sandbox_engines_read(engines, text.buf, text.len, true, err);
}

void sandbox_engines_release(struct sandbox_engines *engines)
{
    for (size_t i = 0; i < engines->count; i++)
        engine_release(&engines->items[i]);
    free(engines->items);
    *engines = (struct sandbox_engines){0};
}
