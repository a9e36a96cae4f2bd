/* Events are typed: nobody but core/event reads JSON out of them.
 *
 * Some fields hold the JSON of somebody else (a tool's arguments, what a script sent). They are listed here with their
 * owner, and event_leaf is where they are parsed. */

#include "base/file.h"
#include "base/mem.h"
#include "event/event.h"
#include "support/test.h"
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
    {"variant", "when", "whoever wrote the script of a model"},
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

TEST(json_text_in_an_event_belongs_to_somebody_else)
{
    for (int i = EVENT_OTHER + 1; i < EVENT_TYPE_COUNT; i++)
        check_layout(event_type_name((enum event_type)i), event_layout((enum event_type)i));
    for (int i = EVENT_RECORD_NONE + 1; i < EVENT_RECORD_COUNT; i++)
        check_layout(record_names[i], event_record_layout((enum event_record)i));
    assert_int_equal(seen, COUNT_OF(leaves));
}

/* ---- the code ---- */

/* Files that know events and parse JSON by themselves, and what that is. */
static const struct {
    const char *file, *parses;
} parsers[] = {
    {"core/model/message.c", "arguments as a model wrote them"},
    {"core/tools/bounded.c", "arguments of the call, as it was asked for"},
    {"core/tools/registry.c", "a tool's schema"},
    {"core/tools/verdict.c", "hunks as the user chose them"},
    {"core/turn/budget.c", "a number that the user wrote"},
    {"core/turn/turn_calls.c", "arguments as a model or the user wrote them"},
    {"core/turn/turn_edit.c", "a result as the user wrote it"},
};

static bool is_listed(const char *path)
{
    for (size_t i = 0; i < COUNT_OF(parsers); i++)
        if (strcmp(parsers[i].file, path) == 0)
            return true;
    return false;
}

static void check_file(const char *path, size_t *files)
{
    static const char *const marks[] = {"struct event ", "struct event_", "event_decode", "journal_event",
                                        "event_raw_field"};
    CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, path);
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    bool knows_events = false;
    assert_int_equal(file_read(full, &text, 0, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(marks); i++)
        knows_events |= strstr(text.buf, marks[i]) != NULL;
    ++*files;
    if (knows_events && strstr(text.buf, "json_parse(") && !is_listed(path))
        fail_msg(
            "%s parses JSON and knows events: read typed fields, use event_leaf for the JSON of others, or say here "
            "what it parses",
            path);
}

TEST(nobody_else_parses_what_events_say)
{
    static const char *const folders[] = {"core/config", "core/mcp",  "core/model",     "core/sandbox",
                                          "core/tools",  "core/turn", "core/workspace", "tui"};
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
}
