/* Prints writes: the proposal with its whole diff, who decided what and why, and what was written. The diff is printed
 * together with the decision, because only the decision says which hunks were approved. */

#include "base/utf8.h"
#include "event/words.h"
#include "plain_internal.h"
#include <string.h>

#define DIFF_LINES_MAX 400 /* per file; the journal has all of them */

/* Which hunks of a file the decision approved. */
struct keeping {
    enum { KEEP_ALL, KEEP_NONE, KEEP_SOME } how;
    struct event_ints hunks; /* numbers from 1; for KEEP_SOME */
    bool say;                /* mark every hunk with its decision */
};

static bool is_kept(const struct keeping *keeping, int64_t hunk)
{
    if (keeping->how != KEEP_SOME)
        return keeping->how == KEEP_ALL;
    for (size_t i = 0; i < keeping->hunks.count; i++)
        if (keeping->hunks.items[i] == hunk)
            return true;
    return false;
}

/* `decided` NULL: no decision. */
static struct keeping keeping_of(const struct event_write_decided *decided, const char *path)
{
    struct keeping keeping = {.how = KEEP_ALL};
    const char *decision = decided && decided->decision ? decided->decision : "?";
    if (decided && strcmp(decision, "approved") != 0 && strcmp(decision, "edited") != 0)
        keeping.how = KEEP_NONE;
    if (strcmp(decision, "partial") != 0)
        return keeping;
    keeping.say = true; /* a file that the decision does not name is not written */
    for (size_t i = 0; i < decided->hunks.count; i++) {
        const struct event_hunk_choice *choice = &decided->hunks.items[i];
        if (strcmp(choice->path ? choice->path : "", path) == 0) {
            keeping.how = KEEP_SOME;
            keeping.hunks = choice->keep;
        }
    }
    return keeping;
}

/* ---- diffs ---- */

static void diff_line(struct plain *plain, const char *line, size_t len, bool kept, const char *mark)
{
    size_t indent = plain_call_indent(plain);
    enum ink ink = !kept            ? INK_DIM
                   : line[0] == '+' ? INK_GOOD
                   : line[0] == '-' ? INK_BAD
                   : line[0] == '@' ? INK_MARK
                                    : INK_NONE;
    CLEANUP(strbuf) struct strbuf shown = STRBUF_INIT;
    text_show(&shown, line, len, UTF8_KEEP_TAB);
    if (mark) {
        size_t columns = plain->style.width > indent + strlen(mark) ? plain->style.width - indent - strlen(mark) : 0;
        strbuf_addch(&shown, ' ');
        text_pad(&shown, 0, columns);
        strbuf_addstr(&shown, mark);
    }
    plain_line(plain, indent, ink, shown.buf);
}

static bool is_header(const char *line)
{
    return strncmp(line, "--- ", 4) == 0 || strncmp(line, "+++ ", 4) == 0 || strncmp(line, "diff ", 5) == 0 ||
           strncmp(line, "index ", 6) == 0;
}

static void show_diff(struct plain *plain, const char *diff, const struct keeping *keeping)
{
    int64_t hunk = 0;
    size_t lines = 0, left_out = 0;
    bool kept = keeping->how != KEEP_NONE;
    for (const char *at = diff; *at;) {
        size_t len = strcspn(at, "\n");
        bool heading = strncmp(at, "@@", 2) == 0;
        if (heading)
            kept = is_kept(keeping, ++hunk);
        /* The file already has its own line. Inside a hunk, "--- x" is a removed line. */
        bool header = hunk == 0 && is_header(at);
        if (!header && ++lines > DIFF_LINES_MAX)
            left_out++;
        else if (!header)
            diff_line(plain, at, len, kept, heading && keeping->say ? kept ? "approved" : "discarded" : NULL);
        at += len + (at[len] == '\n');
    }
    if (left_out) {
        CLEANUP(strbuf) struct strbuf more = STRBUF_INIT;
        strbuf_addf(&more, "%s ", text_ellipsis());
        text_plural(&more, (int64_t)left_out, "more line", "more lines");
        plain_line(plain, plain_call_indent(plain), INK_DIM, more.buf);
    }
}

static bool is_absent(const char *digest)
{
    return digest && strcmp(digest, "absent") == 0;
}

/* Prints a warning below the file: `label`, then the names. Prints nothing without names. */
static void show_note(struct plain *plain, const char *label, const char *const *names, size_t count)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        strbuf_addstr(&line, i ? ", " : label);
        text_name(&line, names[i] ? names[i] : "?");
    }
    if (!line.len)
        return;
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph(plain, INK_WARN, line.buf, plain_call_indent(plain));
}

static void show_file(struct plain *plain, const struct event_proposed_file *file, const struct keeping *keeping)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    bool deleted = is_absent(file->new_digest);
    text_name_cut(&line, file->path ? file->path : "?", plain->style.width - plain_call_indent(plain) - 30);
    strbuf_addch(&line, ' ');
    words_counts(&line, file->added, file->removed);
    strbuf_addf(&line, "%s%s%s",
                is_absent(file->old_digest) ? ", new file"
                : deleted                   ? ", deleted"
                                            : "",
                file->binary ? ", binary" : "", keeping->say && keeping->how == KEEP_NONE ? ", discarded" : "");
    plain_line(plain, plain_call_indent(plain), INK_BOLD, line.buf);
    show_note(plain, "protected: ", &file->protected, file->protected != NULL);
    show_note(plain, "dangerous: ", &file->dangerous, file->dangerous != NULL);
    show_note(plain, "via link: ", &file->through, file->through != NULL);
    show_note(plain, deleted ? "undo does not bring back: " : "loses: ", file->loses.items, file->loses.count);
    if (file->diff && !file->binary)
        show_diff(plain, file->diff, keeping);
}

/* ---- questions ---- */

void plain_write_proposed(struct plain *plain, const struct event *event)
{
    struct event proposed = *event;
    struct plain_ask ask = {.arena = ARENA_INIT};
    proposed.raw = NULL; /* the raw line is not used */
    ask.proposed = &event_copy(&ask.arena, &proposed)->write_proposed;
    GROW(plain->asks, plain->ask_count, plain->ask_room);
    plain->asks[plain->ask_count++] = ask;
}

/* Prints a question with its decision (NULL: none), and removes it. */
static void show_ask(struct plain *plain, size_t index, const struct event_write_decided *decided)
{
    struct plain_ask *ask = &plain->asks[index];
    const struct event_proposed_file_list *files = &ask->proposed->files;
    struct plain_call *call = plain_call(plain, ask->proposed->call, NULL);
    plain_call_introduce(plain, call);
    for (size_t i = 0; i < files->count; i++) {
        struct keeping keeping = keeping_of(decided, files->items[i].path ? files->items[i].path : "?");
        show_file(plain, &files->items[i], &keeping);
    }
    call->decided |= decided != NULL;
    arena_release(&ask->arena);
    memmove(ask, ask + 1, (plain->ask_count - index - 1) * sizeof(*ask));
    plain->ask_count--;
}

void plain_write_pending(struct plain *plain, const char *call)
{
    for (size_t i = 0; i < plain->ask_count;) {
        const char *asking = plain->asks[i].proposed->call;
        if (call && strcmp(asking ? asking : "?", call) != 0) {
            i++;
            continue;
        }
        show_ask(plain, i, NULL);
        plain_line(plain, plain_call_indent(plain), INK_WARN, "not decided");
    }
}

/* Prints what the user wrote instead of a proposal. */
static void show_edit(struct plain *plain)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    json_each (file, event_leaf(&arena, plain->edit)) {
        const char *text = json_str(json_get(file, "text"), NULL);
        size_t lines = 0;
        plain_indent(plain, plain_call_indent(plain));
        text_name_cut(plain->out, json_str(json_get(file, "path"), "?"), plain->style.width / 2);
        strbuf_addstr(plain->out, text ? " as edited:" : " deleted");
        plain_newline(plain);
        for (const char *at = text ? text : ""; *at && lines < DIFF_LINES_MAX; lines++) {
            size_t len = strcspn(at, "\n");
            CLEANUP(free) char *line = xasprintf("|%.*s", (int)len, at);
            diff_line(plain, line, len + 1, true, NULL);
            at += len + (at[len] == '\n');
        }
    }
    free(plain->edit);
    plain->edit = NULL;
}

static void show_words(struct plain *plain, enum ink ink, const struct event *event)
{
    CLEANUP(strbuf) struct strbuf line = STRBUF_INIT;
    event_words(&line, WORDS_PLAIN, NULL, event);
    plain_indent(plain, plain_call_indent(plain));
    plain_paragraph(plain, ink, line.buf, plain_call_indent(plain));
}

void plain_write_decided(struct plain *plain, const struct event *event)
{
    const struct event_write_decided *decided = &event->write_decided;
    const char *decision = decided->decision ? decided->decision : "?";
    bool no = strcmp(decision, "denied") == 0 || strcmp(decision, "expired") == 0;
    for (size_t i = 0; decided->ask && i < plain->ask_count; i++) {
        const char *ask = plain->asks[i].proposed->ask;
        if (strcmp(ask ? ask : "", decided->ask) == 0) {
            show_ask(plain, i, decided);
            break;
        }
    }
    show_words(plain, no ? INK_WARN : INK_GOOD, event);
    if (plain->edit)
        show_edit(plain);
}

void plain_write_applied(struct plain *plain, const struct event *event)
{
    plain_call_introduce(plain, plain_call(plain, event->write_applied.call, NULL));
    show_words(plain, INK_NONE, event);
}
