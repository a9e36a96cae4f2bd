/* keyturn memory: lists the notes that turns left for later turns, and forgets them. */

#include "app/cli_error.h"
#include "app/session_list.h"
#include "app/setup.h"
#include "base/clock.h"
#include "base/doc.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/project.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli_out.h"
#include "event/store.h"
#include "options.h"
#include "screen/text.h"
#include "turn/prepare.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROJECT_COLUMNS_MAX 32
#define UNASSIGNED          "unassigned"

/* ---- the list ---- */

static void write_json(struct strbuf *out, const struct store_memory *memory)
{
    CLEANUP(doc) struct doc *doc = doc_new();
    doc_add_int(doc, "id", memory->id);
    doc_add_text(doc, "project", memory->project);
    doc_add_text(doc, "session", *memory->session ? memory->session : NULL);
    doc_add_int(doc, "wall_us", memory->wall_us);
    doc_add_text(doc, "text", memory->text);
    doc_write(doc, out);
    strbuf_addch(out, '\n');
}

/* What happens with them, for the folder that the user is in. */
static void write_scope(struct strbuf *out, enum memory_scope scope, const char *project)
{
    if (scope == MEMORY_OFF) {
        strbuf_addstr(out, "Memory is off (\"memory\" in the config file): none of these goes to the model.\n");
    } else if (scope == MEMORY_GLOBAL) {
        strbuf_addstr(out, "Memory is global (\"memory\" in the config file): the model gets those of all projects.\n");
    } else {
        CLEANUP(free) char *folder = sessions_folder(project);
        strbuf_addstr(out, "The model gets those of its project. This project: ");
        text_show(out, folder, strlen(folder), 0);
        strbuf_addch(out, '\n');
    }
}

static void write_cell(struct strbuf *out, const char *text, size_t width)
{
    size_t from = out->len;
    text_show_cut(out, text, strlen(text), width);
    text_pad(out, from, width + 2);
}

static char *project_cell(const struct store_memory *memory)
{
    return memory->project ? sessions_folder(memory->project) : xstrdup(UNASSIGNED);
}

static void write_table(struct strbuf *out, const struct store_memory *list, size_t count)
{
    enum { ID_COLUMNS = 6, WHEN_COLUMNS = 10, TEXT_COLUMNS_MIN = 20 };
    struct clock *clock = clock_system();
    int64_t now_us = clock->wall_us(clock);
    size_t project = strlen("project"), width = text_terminal_width(STDOUT_FILENO, 120);
    bool old = false;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(free) char *folder = project_cell(&list[i]);
        size_t columns = utf8_columns(folder, strlen(folder));
        project = columns > project ? columns : project;
        old |= !list[i].project;
    }
    project = project < PROJECT_COLUMNS_MAX ? project : PROJECT_COLUMNS_MAX;
    size_t taken = ID_COLUMNS + WHEN_COLUMNS + project + 6;
    size_t room = width > taken + TEXT_COLUMNS_MIN ? width - taken : TEXT_COLUMNS_MIN;
    write_cell(out, "id", ID_COLUMNS);
    write_cell(out, "when", WHEN_COLUMNS);
    write_cell(out, "project", project);
    strbuf_addstr(out, "memory\n");
    for (size_t i = 0; i < count; i++) {
        CLEANUP(strbuf) struct strbuf when = STRBUF_INIT;
        CLEANUP(free) char *folder = project_cell(&list[i]);
        char id[24];
        snprintf(id, sizeof(id), "%lld", (long long)list[i].id);
        text_ago(&when, list[i].wall_us, now_us);
        write_cell(out, id, ID_COLUMNS);
        write_cell(out, when.buf, WHEN_COLUMNS);
        write_cell(out, folder, project);
        text_show_cut(out, list[i].text, strlen(list[i].text), room);
        strbuf_addch(out, '\n');
    }
    if (old)
        strbuf_addstr(out, "\n" UNASSIGNED ": from a version without projects; never sent to the model.\n");
    strbuf_addstr(out, "\nkeyturn memory forget ID forgets one, keyturn memory forget all forgets all.\n");
}

static int list_all(struct cli_out *output, struct store *store, bool json, enum memory_scope scope)
{
    struct strbuf *out = &output->text;
    struct store_memory *list = NULL;
    size_t count = 0;
    struct err err = ERR_INIT;
    if (store && store_memory_list(store, &list, &count, &err))
        return cli_error(STATUS_FAILED, "%s", err.text);
    for (size_t i = 0; json && i < count; i++)
        write_json(out, &list[i]);
    if (!json) {
        CLEANUP(free) char *project = project_root(".");
        write_scope(out, scope, project);
        strbuf_addstr(out, count ? "\n" : "No memories yet. A turn that ends as done leaves one.\n");
    }
    if (!json && count)
        write_table(out, list, count);
    store_memory_free(list, count);
    return STATUS_DONE;
}

/* ---- forgetting ---- */

/* The id of a memory; 0: all of them; -1: neither. */
static int64_t read_id(const char *text)
{
    if (strcmp(text, "all") == 0)
        return 0;
    size_t digits = strspn(text, "0123456789");
    int64_t id = digits && digits <= 18 && !text[digits] ? strtoll(text, NULL, 10) : 0;
    return id > 0 ? id : -1;
}

static int forget(struct cli_out *output, struct store *store, const char *which)
{
    int64_t id = read_id(which), count = 0;
    struct err err = ERR_INIT;
    if (id < 0)
        return cli_error(STATUS_USAGE,
                         "keyturn memory forget takes an ID or all, not %.60s (keyturn memory lists them)", which);
    if (store && store_memory_forget(store, id, &count, &err))
        return cli_error(STATUS_FAILED, "%s", err.text);
    if (id > 0 && count == 0)
        return cli_error(STATUS_FAILED, "no memory %lld (keyturn memory lists them)", (long long)id);
    strbuf_addstr(&output->text, "Forgot ");
    text_plural(&output->text, count, "memory.\n", "memories.\n");
    return STATUS_DONE;
}

/* NULL without an error: there is no database yet, and looking must not create one. */
static struct store *open_store(struct err *err)
{
    CLEANUP(free) char *path = file_xdg_path(FILE_DATA, "keyturn.db");
    if (access(path, F_OK))
        return NULL;
    struct store *store = store_open(path, err);
    if (!store)
        err_prefix(err, "%s", path);
    return store;
}

int cmd_memory(const struct options *options)
{
    struct err err = ERR_INIT;
    struct cli_out output;
    const char *verb = options->operand, *which = options->second;
    if (verb && strcmp(verb, "forget") != 0)
        return cli_error(STATUS_USAGE, "unknown operand %.60s (keyturn memory forget ID)", verb);
    if (verb && !which)
        return cli_error(STATUS_USAGE, "keyturn memory forget needs an ID or all (keyturn memory lists them)");
    CLEANUP(config) struct config *config = setup_config(options);
    if (!config)
        return STATUS_USAGE;
    struct store *store = open_store(&err);
    if (!store && err.text[0])
        return cli_error(STATUS_FAILED, "%s", err.text);
    cli_out_init(&output, STDOUT_FILENO);
    enum memory_scope scope = config->memory < 0 ? MEMORY_PROJECT : (enum memory_scope)config->memory;
    int status = verb ? forget(&output, store, which) : list_all(&output, store, options->json, scope);
    if (cli_out_flush(&output) && status == STATUS_DONE)
        status = cli_out_error(&output);
    cli_out_release(&output);
    store_close(store);
    return status;
}
