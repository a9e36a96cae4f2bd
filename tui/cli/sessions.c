/* keyturn sessions: prints the recorded sessions. Also runs keyturn without a command. */

#include "app/app.h"
#include "app/cli_error.h"
#include "app/session_list.h"
#include "base/clock.h"
#include "base/doc.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli_out.h"
#include "event/words.h"
#include "options.h"
#include "screen/text.h"
#include <string.h>
#include <unistd.h>

#define ROWS_SHOWN    20
#define ROWS_AS_JSON  1000
#define ROWS_AT_START 5

static int send_out(struct cli_out *output)
{
    int status = cli_out_flush(output) ? cli_out_error(output) : STATUS_DONE;
    cli_out_release(output);
    return status;
}

static void cell(struct strbuf *out, const char *text, size_t width)
{
    size_t from = out->len;
    text_show_cut(out, text, strlen(text), width);
    text_pad(out, from, width + 2);
}

/* A table for the terminal, one line per session, indented by `indent`. */
static void write_table(struct strbuf *out, const struct session_rows *rows, size_t indent, size_t width)
{
    enum { WHEN, NAME, STATUS, WRITES, DECISIONS, FOLDER, COLUMNS };
    struct clock *clock = clock_system();
    int64_t now = clock->wall_us(clock);
    size_t widths[COLUMNS] = {4, 7, 6, 6, 9, 6};
    for (size_t i = 0; i < rows->count; i++) {
        CLEANUP(strbuf) struct strbuf when = STRBUF_INIT, decisions = STRBUF_INIT;
        CLEANUP(strbuf) struct strbuf writes = STRBUF_INIT;
        CLEANUP(free) char *folder = sessions_folder(rows->items[i].workspace);
        sessions_writes(&writes, &rows->items[i], false);
        text_ago(&when, rows->items[i].when_us, now);
        words_decisions(&decisions, rows->items[i].approved, rows->items[i].denied);
        const char *texts[COLUMNS] = {when.buf,   rows->items[i].id, rows->items[i].status,
                                      writes.buf, decisions.buf,     folder};
        for (size_t k = 0; k < COLUMNS; k++) {
            size_t columns = utf8_columns(texts[k], strlen(texts[k]));
            if (columns > widths[k])
                widths[k] = columns < 28 ? columns : 28;
        }
    }
    size_t taken = indent + 2 * COLUMNS;
    for (size_t k = 0; k < COLUMNS; k++)
        taken += widths[k];
    size_t room = width > taken + 20 ? width - taken : 20;
    for (size_t i = 0; i <= rows->count; i++) {
        CLEANUP(strbuf) struct strbuf when = STRBUF_INIT;
        CLEANUP(strbuf) struct strbuf writes = STRBUF_INIT, decisions = STRBUF_INIT;
        CLEANUP(free) char *folder = NULL;
        const struct session_row *row = i ? &rows->items[i - 1] : NULL;
        if (row) {
            text_ago(&when, row->when_us, now);
            folder = sessions_folder(row->workspace);
        }
        for (size_t k = 0; k < indent; k++)
            strbuf_addch(out, ' ');
        cell(out, row ? when.buf : "when", widths[WHEN]);
        cell(out, row ? row->id : "session", widths[NAME]);
        cell(out, row ? row->status : "status", widths[STATUS]);
        if (row)
            sessions_writes(&writes, row, false);
        cell(out, row ? writes.buf : "writes", widths[WRITES]);
        if (row)
            words_decisions(&decisions, row->approved, row->denied);
        cell(out, row ? decisions.buf : "decisions", widths[DECISIONS]);
        cell(out, row ? folder : "folder", widths[FOLDER]);
        const char *title = row ? row->title : "prompt";
        text_show_cut(out, title, strlen(title), room);
        strbuf_addch(out, '\n');
    }
}

static void write_json(struct strbuf *out, const struct session_row *row)
{
    CLEANUP(doc) struct doc *doc = doc_new();
    doc_add_text(doc, "session", row->id);
    doc_add_text(doc, "path", row->path);
    doc_add_text(doc, "workspace", row->workspace);
    doc_add_text(doc, "prompt", row->title);
    doc_add_text(doc, "status", row->status);
    doc_add_text(doc, "model", row->model);
    doc_add_int(doc, "updated_us", row->when_us);
    doc_add_int(doc, "turns", row->turns);
    if (row->writes >= 0)
        doc_add_int(doc, "writes", row->writes);
    if (row->writes >= 0 && row->undone > 0)
        doc_add_int(doc, "undone", row->undone);
    if (row->approved >= 0)
        doc_add_int(doc, "approved", row->approved);
    if (row->denied >= 0)
        doc_add_int(doc, "denied", row->denied);
    doc_add_bool(doc, "running", row->running);
    doc_write(doc, out);
    strbuf_addch(out, '\n');
}

int cmd_sessions(const struct options *options)
{
    struct session_rows rows;
    struct cli_out output;
    cli_out_init(&output, STDOUT_FILENO);
    sessions_load(&rows, options->json ? ROWS_AS_JSON : ROWS_SHOWN);
    if (options->json) {
        for (size_t i = 0; i < rows.count; i++)
            write_json(&output.text, &rows.items[i]);
    } else if (rows.count) {
        write_table(&output.text, &rows, 0, text_terminal_width(STDOUT_FILENO, 120));
        strbuf_addstr(&output.text, "\nkeyturn resume SESSION continues one, keyturn replay SESSION replays it.\n");
    } else {
        strbuf_addstr(&output.text,
                      "No sessions yet. keyturn demo plays a guided turn; keyturn run \"what to do\" starts "
                      "your own.\n");
    }
    sessions_release(&rows);
    return send_out(&output);
}

int cmd_start(const struct options *options)
{
    struct session_rows rows;
    struct cli_out output;
    if (app_wanted(options))
        return app_start(options);
    cli_out_init(&output, STDOUT_FILENO);
    cli_help(&output.text);
    sessions_load(&rows, ROWS_AT_START);
    if (rows.count) {
        strbuf_addstr(&output.text, "\nRecent sessions (keyturn resume SESSION continues one):\n");
        write_table(&output.text, &rows, 2, text_terminal_width(STDOUT_FILENO, 120));
    } else {
        strbuf_addstr(&output.text, "\nNew here? keyturn demo plays a guided turn; nothing to set up.\n");
    }
    sessions_release(&rows);
    return send_out(&output);
}
