#include "form.h"
#include "base/json.h"
#include "base/mem.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* The first is what most servers say; of several that a schema has, the first counts. */
static const char *const paths[] = {"path",       "file_path",   "filePath",  "filepath", "filename",
                                    "fileName",   "file_name",   "file",      "target",   "target_path",
                                    "targetPath", "target_file", "targetFile"};
/* Not "data" and "body", which are often something encoded. */
static const char *const contents[] = {"content", "contents", "file_text", "fileText", "text"};
static const char *const switches[] = {"dryRun", "dry_run"};

static const char *const places[] = {"owner", "repo", "repository", "project_id", "branch", "bucket", "url", "host"};

static bool takes(const struct json *schema, const char *name, const char *type)
{
    const struct json *property = json_get(json_get(schema, "properties"), name);
    return strcmp(json_str(json_get(property, "type"), ""), type) == 0;
}

static const char *first_taken(const struct json *schema, const char *const *names, size_t count, const char *type)
{
    for (size_t i = 0; i < count; i++)
        if (takes(schema, names[i], type))
            return names[i];
    return NULL;
}

static bool begins(const char *tool, const char *const *verbs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(tool, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

/* "delete_file" and "deleteFile", but not "delete_lines". */
static bool deletes(const char *tool)
{
    static const char *const names[] = {"delete", "deletefile", "remove", "removefile", "unlink", "rm"};
    char plain[32];
    size_t len = 0;
    for (; *tool && len + 1 < sizeof(plain); tool++)
        if (isalnum((unsigned char)*tool))
            plain[len++] = (char)tolower((unsigned char)*tool);
    plain[len] = '\0';
    for (size_t i = 0; !*tool && i < COUNT_OF(names); i++)
        if (strcmp(plain, names[i]) == 0)
            return true;
    return false;
}

/* Besides this argument it has switches only: nothing says that it is about a part of the file. */
static bool takes_only(const struct json *schema, const char *name)
{
    json_each (property, json_get(schema, "properties"))
        if (strcmp(property->key, name) != 0 && strcmp(json_str(json_get(property, "type"), ""), "boolean") != 0)
            return false;
    return true;
}

struct mcp_form mcp_form_of(const char *tool, const struct json *schema)
{
    static const char *const moving[] = {"move", "rename"}, *const appending[] = {"append"};
    static const char *const writing[] = {"write", "create", "save", "put", "overwrite"};
    struct mcp_form form = {.path = first_taken(schema, paths, COUNT_OF(paths), "string"),
                            .content = first_taken(schema, contents, COUNT_OF(contents), "string"),
                            .dry_run = first_taken(schema, switches, COUNT_OF(switches), "boolean")};
    form.elsewhere = first_taken(schema, places, COUNT_OF(places), "string") != NULL;
    if (form.elsewhere) {
        form.path = NULL;
    } else if (begins(tool, moving, COUNT_OF(moving)) && takes(schema, "source", "string") &&
               takes(schema, "destination", "string")) {
        form.kind = MCP_FORM_MOVES;
        form.path = "source";
        form.target = "destination";
    } else if (form.path && deletes(tool) && takes_only(schema, form.path)) {
        form.kind = MCP_FORM_DELETES;
    } else if (form.path && form.content && begins(tool, appending, COUNT_OF(appending))) {
        form.kind = MCP_FORM_APPENDS;
    } else if (form.path && form.content && begins(tool, writing, COUNT_OF(writing))) {
        form.kind = MCP_FORM_WHOLE;
    } else if (form.path) {
        form.kind = MCP_FORM_NAMES;
    }
    return form;
}

static bool is_text(const struct json *arguments, const char *name)
{
    const struct json *value = name ? json_get(arguments, name) : NULL;
    return value && value->type == JSON_STRING;
}

enum mcp_form_kind mcp_form_of_call(const struct mcp_form *form, const struct json *arguments)
{
    const char *mode = json_str(json_get(arguments, "mode"), ""),
               *encoding = json_str(json_get(arguments, "encoding"), "");
    bool writes = form->kind == MCP_FORM_WHOLE || form->kind == MCP_FORM_APPENDS;
    if (form->kind == MCP_FORM_NONE || !is_text(arguments, form->path))
        return MCP_FORM_NONE;
    if (form->kind == MCP_FORM_MOVES)
        return is_text(arguments, form->target) ? MCP_FORM_MOVES : MCP_FORM_NONE;
    if (!writes)
        return form->kind;
    if (!is_text(arguments, form->content) ||
        (*encoding && strcasecmp(encoding, "utf-8") != 0 && strcasecmp(encoding, "utf8") != 0))
        return MCP_FORM_NAMES;
    bool appends =
        json_bool(json_get(arguments, "append"), false) || strcmp(mode, "a") == 0 || strcmp(mode, "append") == 0;
    return appends ? MCP_FORM_APPENDS : form->kind;
}

bool mcp_form_names_path(const char *argument)
{
    bool found = strcmp(argument, "source") == 0 || strcmp(argument, "destination") == 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++)
        found |= strcmp(argument, paths[i]) == 0;
    return found;
}
