/* Events are typed: only core/event reads JSON out of them.
 *
 * Some fields hold foreign JSON (a tool's arguments, what a script sent). They are listed here with their owner, and
 * event_leaf parses them. */

#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"
#include "support/test.h"
#include <ctype.h>
#include <dirent.h>
#include <string.h>

/* ---- the table of events ---- */

static const struct {
    const char *in, *field, *owner;
} leaves[] = {
    {"tool_info", "parameters", "the tool: its schema"},
    {"tool_request", "arguments", "the tool"},
    {"tool.started", "arguments", "the tool"},
    {"result_info", "output", "the tool"},
    {"message", "opaque", "the provider"},
    {"model.responded", "opaque", "the provider"},
    {"variant", "when", "the author of a scripted model"},
    {"script.event", "event", "the script"},
    {"workspace.op", "attrs", "the operation"},
    {"edited", "before", "whatever was edited"},
    {"edited", "after", "whatever was edited"},
};

static const char *const record_names[] = {
#define F(kind, ...)
#define REC(name, ...) [EVENT_RECORD_##name] = #name,
#define EVENT(ID, member, name, doc, ...)
#include "event/event.def"
#undef EVENT
#undef REC
#undef F
};

static size_t seen;

static void check_layout(const char *in, struct event_layout layout)
{
    for (size_t i = 0; i < layout.count; i++) {
        const struct event_field *field = &layout.fields[i];
        if (field->kind != EVENT_KIND_JSON && field->kind != EVENT_KIND_LIST && field->kind != EVENT_KIND_OBJ)
            continue;
        size_t at = 0;
        while (at < COUNT_OF(leaves) && (strcmp(leaves[at].in, in) != 0 || strcmp(leaves[at].field, field->name) != 0))
            at++;
        if (at == COUNT_OF(leaves))
            fail_msg("%s.%s is JSON text: make it a record, or say here whose it is", in, field->name);
        seen++;
    }
}

TEST(json_text_in_an_event_is_foreign)
{
    for (int i = EVENT_OTHER + 1; i < EVENT_TYPE_COUNT; i++)
        check_layout(event_type_name((enum event_type)i), event_layout((enum event_type)i));
    for (int i = EVENT_RECORD_NONE + 1; i < EVENT_RECORD_COUNT; i++)
        check_layout(record_names[i], event_record_layout((enum event_record)i));
    assert_int_equal(seen, COUNT_OF(leaves));
}

/* ---- the code ---- */

/* Files that know events and parse JSON themselves, and which JSON that is. */
static const struct {
    const char *file, *parses;
} parsers[] = {
    {"core/model/message.c", "arguments as a model wrote them"},
    {"core/tools/bounded.c", "arguments of the call, as the model sent them"},
    {"core/tools/registry.c", "a tool's schema"},
    {"core/turn/budget.c", "a number that the user wrote"},
    {"core/turn/calls.c", "arguments as a model or the user wrote them"},
    {"core/turn/compaction.c", "arguments of a call that a summary names"},
};

/* What event_leaf and view_json are given, other than a member or a local that is named like a field of `leaves`. */
static const struct {
    const char *file, *argument, *is;
} handed[] = {
    {"tui/dialogs/gate.c", "text", "arguments as they are edited"},
    {"tui/cli/plain_calls.c", "value->text", "arguments that are a text with JSON in it"},
    {"tui/cli/plain_write.c", "plain->edit", "edited.after, kept until the decision"},
    {"tui/panes/call_output.c", "text", "what a script sent"},
    {"tui/app/view.c", "text", "what view_json is given, which is looked at as well"},
};

static bool parser_seen[COUNT_OF(parsers)], handed_seen[COUNT_OF(handed)];

static bool parses_and_knows_events(const char *text)
{
    static const char *const marks[] = {"struct event ", "struct event_", "event_decode", "journal_event",
                                        "event_raw_json"};
    bool knows_events = false;
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        knows_events |= strstr(text, marks[i]) != NULL;
    return knows_events && (strstr(text, "json_parse(") || strstr(text, "json_parse_commented("));
}

/* `argument` ends at its bracket. */
static void check_leaf(const char *path, const char *argument, size_t len)
{
    for (size_t i = 0; i < COUNT_OF(handed); i++) {
        if (strcmp(handed[i].file, path) == 0 && strlen(handed[i].argument) == len &&
            strncmp(handed[i].argument, argument, len) == 0) {
            handed_seen[i] = true;
            return;
        }
    }
    size_t name = len;
    while (name > 0 && (isalnum((unsigned char)argument[name - 1]) || argument[name - 1] == '_'))
        name--;
    for (size_t i = 0; i < COUNT_OF(leaves); i++)
        if (strlen(leaves[i].field) == len - name && strncmp(leaves[i].field, argument + name, len - name) == 0)
            return;
    fail_msg("%s: event_leaf is given %.*s, which is no JSON text of an event; if it holds one, say here which", path,
             (int)len, argument);
}

static void check_file(const char *path, size_t *files)
{
    static const char *const readers[] = {"event_leaf(", "view_json("};
    CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, path);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool is_listed = false;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    ++*files;
    for (size_t i = 0; i < COUNT_OF(readers); i++) {
        for (const char *at = text.buf; (at = strstr(at, readers[i])); at++) {
            const char *argument = strchr(at, ',') + 2;
            if (strncmp(argument, "const ", 6) != 0) /* a call */
                check_leaf(path, argument, strcspn(argument, ")"));
        }
    }
    if (!parses_and_knows_events(text.buf))
        return;
    for (size_t i = 0; i < COUNT_OF(parsers); i++)
        if (strcmp(parsers[i].file, path) == 0)
            parser_seen[i] = is_listed = true;
    if (!is_listed)
        fail_msg(
            "%s parses JSON and knows events: read typed fields, use event_leaf for the JSON of others, or say here "
            "what it parses",
            path);
}

TEST(only_listed_files_parse_events)
{
    static const char *const folders[] = {"core/config", "core/mcp",    "core/model",     "core/sandbox",
                                          "core/tools",  "core/turn",   "core/workspace", "tui/screen",
                                          "tui/panes",   "tui/dialogs", "tui/app",        "tui/cli"};
    size_t files = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, folders[i]);
        DIR *dir = opendir(full);
        for (struct dirent *entry; dir && (entry = readdir(dir));) {
            CLEANUP(free) char *path = xasprintf("%s/%s", folders[i], entry->d_name);
            size_t len = strlen(path);
            if (strcmp(path + len - 2, ".c") == 0)
                check_file(path, &files);
        }
        closedir(dir);
    }
    assert_true(files > 100);
    for (size_t i = 0; i < COUNT_OF(parsers); i++)
        if (!parser_seen[i])
            fail_msg("%s does not parse JSON beside events any more: take its row out", parsers[i].file);
    for (size_t i = 0; i < COUNT_OF(handed); i++)
        if (!handed_seen[i])
            fail_msg("%s does not give %s to event_leaf any more: take its row out", handed[i].file,
                     handed[i].argument);
}
