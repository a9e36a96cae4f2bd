/* Entries come as paths in any order, from programs that may have made names of anything. They are sorted so that what
 * is in a folder follows it; folders that nobody listed are put in. The four folders that every workspace has are
 * always there and come first. */

#include "workspacetree.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "program.h"
#include "text.h"
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX  20000
#define MORE_MAX     1000000000000 /* entries that are not listed: what a recording says may be anything */
#define PROGRAMS_MAX 200
#define NOTHING_MORE "Nothing more is known of it."
#define NOTED_MAX    200 /* of a list */
#define FOLDERS_MAX  32  /* one in another; what lies deeper is shown with the rest of its path */

static const char *const folders[] = {"skills", "work", "runs", "out"};

void workspacetree_release(struct workspacetree *tree)
{
    tree_release(&tree->tree);
}

/* ---- the state ---- */

struct state {
    const char *path;
    int64_t used, limit, count, count_limit, more;
    const struct json *entries, *inputs, *outputs, *skills; /* arrays; NULL */
};

static const struct json *list(struct arena *arena, const char *text)
{
    return text ? json_parse(arena, text, strlen(text), NULL) : NULL;
}

static int64_t bound_more(int64_t more)
{
    return more < 0 ? 0 : more < MORE_MAX ? more : MORE_MAX;
}

static bool read_state(struct state *state, const struct view *view, uint32_t row, struct arena *arena)
{
    struct event event;
    if (!view_event(view, view->session->workspaces[row].state_seq, &event, arena) ||
        event.type != EVENT_WORKSPACE_STATE)
        return false;
    const struct event_workspace_state *e = &event.workspace_state;
    *state =
        (struct state){.path = e->path ? e->path : "",
                       .used = e->used > 0 ? e->used : 0,
                       .limit = e->limit == EVENT_NULL_INT || e->limit < 0 ? -1 : e->limit,
                       .count = bound_more(e->count),
                       .count_limit = e->count_limit == EVENT_NULL_INT || e->count_limit <= 0 ? -1 : e->count_limit,
                       .more = bound_more(e->more),
                       .entries = list(arena, e->entries),
                       .inputs = list(arena, e->inputs),
                       .outputs = list(arena, e->outputs),
                       .skills = list(arena, e->skills)};
    return true;
}

const struct workspace_use *workspacetree_use(const struct workspacetree *tree, uint32_t row)
{
    for (size_t i = 0; i < tree->use_count; i++)
        if (tree->uses[i].row == row)
            return &tree->uses[i];
    return NULL;
}

/* ---- what is said of one ---- */

/* First: where there is little room, which one it is says more than where it lies. */
static void add_version(struct strbuf *out, const struct json *value)
{
    int64_t version = json_int(json_get(value, "version"), -1);
    if (version >= 0)
        strbuf_addf(out, "v%lld ", (long long)version);
}

static void note_input(struct strbuf *out, const struct json *value)
{
    const char *mode = json_str(json_get(value, "mode"), "");
    strbuf_addstr(out, "from ");
    add_version(out, value);
    strbuf_addstr(out, json_str(json_get(value, "from"), "?"));
    if (*mode)
        strbuf_addf(out, ", %s", mode);
}

static void note_output(struct strbuf *out, const struct json *value)
{
    const char *saved = json_str(json_get(value, "saved_as"), "");
    if (*saved) {
        strbuf_addstr(out, "saved as ");
        add_version(out, value);
        strbuf_addstr(out, saved);
    } else {
        strbuf_addstr(out, "not saved");
    }
    if (json_bool(json_get(value, "truncated"), false))
        strbuf_addstr(out, ", cut");
}

static void note_skill(struct strbuf *out, const struct json *value)
{
    const struct json *files = json_get(value, "files");
    int64_t count = files && files->type == JSON_ARRAY ? files->count : json_int(files, 0);
    text_plural(out, count, "file", "files");
    strbuf_addf(out, ", %.12s", json_str(json_get(value, "digest"), "no digest"));
}

static const struct json *find_by(const struct json *values, const char *member, const char *text)
{
    json_each (value, values) {
        if (strcmp(json_str(json_get(value, member), ""), text) == 0)
            return value;
    }
    return NULL;
}

/* Where it came from, where it was saved: beside the entry itself, unless there are so many that looking would be felt.
 */
static void note_entry(struct strbuf *out, const struct state *state, const char *path)
{
    const struct json *skill = NULL;
    if (strncmp(path, "skills/", 7) == 0 && state->skills && state->skills->count <= NOTED_MAX)
        skill = find_by(state->skills, "name", path + 7);
    const struct json *input =
        state->inputs && state->inputs->count <= NOTED_MAX ? find_by(state->inputs, "to", path) : NULL;
    const struct json *output =
        state->outputs && state->outputs->count <= NOTED_MAX ? find_by(state->outputs, "name", path) : NULL;
    if (input)
        note_input(out, input);
    if (output)
        note_output(out, output);
    if (skill)
        note_skill(out, skill);
}

/* ---- entries ---- */

struct entry {
    const char *path;
    const struct json *value; /* NULL: a folder that every workspace has */
    uint32_t number;
};

/* The part of a path that decides first: which of the four folders it is in. */
static size_t rank(const char *path)
{
    size_t len = strcspn(path, "/");
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (strlen(folders[i]) == len && strncmp(folders[i], path, len) == 0)
            return i;
    return COUNT_OF(folders);
}

/* As bytes, with the slash before everything: what is in a folder comes right behind it. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    int left = *a == '/' ? 1 : *a ? (unsigned char)*a + 1 : 0, right = *b == '/' ? 1 : *b ? (unsigned char)*b + 1 : 0;
    return left - right;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    size_t first = rank(left->path), second = rank(right->path);
    int order = first == second ? compare_paths(left->path, right->path) : first < second ? -1 : 1;
    return order ? order : left->number < right->number ? -1 : left->number > right->number;
}

/* Short, however long the path is. */
static char *key_of(struct arena *arena, uint32_t workspace, const char *kind, const char *path, size_t len)
{
    return arena_printf(arena, "%u %s %016llx", workspace, kind, (unsigned long long)hash_fnv1a(path, len));
}

/* The folders that lead to the entry being added. */
struct step {
    uint32_t node;
    size_t end;   /* bytes of the path so far that it stands for */
    int64_t more; /* in it, that are not listed */
};

struct way {
    struct step *steps;
    size_t depth, room;
    int64_t more; /* said of all folders until now */
};

static void push(struct way *way, uint32_t node, size_t end)
{
    GROW(way->steps, way->depth, way->room);
    way->steps[way->depth++] = (struct step){.node = node, .end = end};
}

static size_t end_of(const struct way *way)
{
    return way->depth ? way->steps[way->depth - 1].end : 0;
}

/* Leaves a folder; what is not listed of it comes last there. */
static void pop(struct way *way, struct treeview *tree, struct arena *arena)
{
    const struct step *step = &way->steps[--way->depth];
    if (!step->more)
        return;
    CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
    strbuf_addstr(&words, "… ");
    text_count(&words, step->more);
    strbuf_addstr(&words, " more");
    uint32_t node = tree_add(tree, step->node, arena_printf(arena, "%s more", tree->nodes[step->node].key), words.buf);
    tree->nodes[node].kind = WORKSPACE_MORE;
    way->more += step->more;
}

/* What is said of an entry that is neither a file nor a folder. */
static void note_kind(struct strbuf *out, const struct json *value)
{
    const char *kind = json_str(json_get(value, "kind"), ""), *target = json_str(json_get(value, "target"), "");
    if (strcmp(kind, "link") == 0)
        strbuf_addf(out, "link%s%s", *target ? " to " : "", target);
    else if (strcmp(kind, "pipe") == 0 || strcmp(kind, "socket") == 0)
        strbuf_addstr(out, kind);
    else if (strcmp(kind, "other") == 0)
        strbuf_addstr(out, "neither file nor folder");
}

static void add_entry(struct treeview *tree, uint32_t parent, uint32_t workspace, struct way *way, const char *before,
                      const struct state *state, const struct entry *entry, struct arena *arena)
{
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    const char *path = entry->path;
    /* Go back up to where this path and the one before it part. */
    while (way->depth &&
           (strncmp(before, path, end_of(way)) != 0 || (path[end_of(way)] != '/' && path[end_of(way)] != '\0')))
        pop(way, tree, arena);
    size_t at = end_of(way);
    while (path[at]) {
        size_t begin = at + (at > 0 && path[at] == '/');
        size_t end = begin + strcspn(path + begin, way->depth < FOLDERS_MAX ? "/" : "");
        if (end == begin) { /* "a//b", "/a" */
            at = end + (path[end] == '/');
            if (!path[at] || at == begin)
                break;
            continue;
        }
        bool last = !path[end] || !path[end + 1];
        const char *kind = last && entry->value ? json_str(json_get(entry->value, "kind"), "file") : "dir";
        bool folder = strcmp(kind, "dir") == 0;
        uint32_t node = tree_add(tree, way->depth ? way->steps[way->depth - 1].node : parent,
                                 key_of(arena, workspace, "entry", path, end),
                                 arena_printf(arena, "%.*s%s", (int)(end - begin), path + begin, folder ? "/" : ""));
        struct tree_node *added = &tree->nodes[node];
        added->kind = folder ? WORKSPACE_FOLDER : WORKSPACE_ENTRY;
        added->ref = last && entry->value ? entry->number : TREE_NONE;
        added->size = folder ? 0 : json_int(json_get(entry->value, "size"), -1);
        push(way, node, end);
        at = end;
    }
    if (!way->depth || end_of(way) != strlen(path))
        return; /* it was there already */
    struct step *last = &way->steps[way->depth - 1];
    struct tree_node *node = &tree->nodes[last->node];
    int64_t bytes = node->kind == WORKSPACE_FOLDER ? json_int(json_get(entry->value, "bytes"), -1) : -1;
    if (bytes >= 0) {
        node->sure = true;
        node->size = bytes;
        last->more = bound_more(json_int(json_get(entry->value, "more"), 0));
    }
    note_entry(&note, state, path);
    if (!note.len)
        note_kind(&note, entry->value);
    if (note.len)
        node->note = arena_strdup(&tree->arena, note.buf);
}

/* A folder that does not say it (none did in older recordings) is as large as what is listed in it; what is not listed
 * is as large as what is left of its folder. */
static void add_up(struct treeview *tree, uint32_t first, struct arena *arena)
{
    int64_t *listed = arena_calloc(arena, tree->count - first + 1, sizeof(*listed));
    for (uint32_t i = tree->count; i-- > first;) {
        struct tree_node *node = &tree->nodes[i];
        if (node->kind == WORKSPACE_FOLDER && !node->sure)
            node->size = listed[i - first];
        if (node->parent == TREE_NONE || node->parent < first || node->size <= 0)
            continue;
        int64_t *above = &listed[node->parent - first];
        if (__builtin_add_overflow(*above, node->size, above))
            *above = INT64_MAX;
    }
    for (uint32_t i = first; i < tree->count; i++) {
        struct tree_node *node = &tree->nodes[i];
        if (node->kind == WORKSPACE_MORE && tree->nodes[node->parent].size >= listed[node->parent - first])
            node->size = tree->nodes[node->parent].size - listed[node->parent - first];
    }
}

static void add_entries(struct treeview *tree, uint32_t parent, uint32_t workspace, const struct state *state,
                        struct arena *arena)
{
    size_t listed = state->entries ? state->entries->count : 0, count = 0;
    listed = listed < ENTRIES_MAX ? listed : ENTRIES_MAX;
    struct entry *entries = arena_calloc(arena, listed + COUNT_OF(folders), sizeof(*entries));
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        entries[count++] = (struct entry){.path = folders[i], .number = TREE_NONE};
    uint32_t number = 0;
    json_each (value, state->entries) {
        const char *path = json_str(json_get(value, "path"), NULL);
        if (path && *path && count < listed + COUNT_OF(folders))
            entries[count++] = (struct entry){path, value, number};
        number++;
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    struct way way = {0};
    const char *before = "";
    uint32_t first = tree->count;
    for (size_t i = 0; i < count; i++) {
        /* The same path twice is one; what is listed says more than what is always there. */
        bool again = i + 1 < count && compare_paths(entries[i].path, entries[i + 1].path) == 0;
        if (again && !entries[i + 1].value)
            entries[i + 1].value = entries[i].value, entries[i + 1].number = entries[i].number;
        if (again)
            continue;
        add_entry(tree, parent, workspace, &way, before, state, &entries[i], arena);
        before = entries[i].path;
    }
    while (way.depth)
        pop(&way, tree, arena);
    free(way.steps);
    add_up(tree, first, arena);
    int64_t more = state->more - way.more + (int64_t)(number > ENTRIES_MAX ? number - ENTRIES_MAX : 0);
    if (more > 0) {
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        text_count(&words, more);
        strbuf_addstr(&words, " more are not listed");
        tree->nodes[tree_add(tree, parent, key_of(arena, workspace, "more", "", 0), words.buf)].kind = WORKSPACE_MORE;
    }
}

/* ---- what was staged, collected, unfolded ---- */

static const struct group {
    const char *name, *label; /* label: the member that says what it is */
    enum workspace_kind kind;
    void (*note)(struct strbuf *out, const struct json *value);
    size_t list; /* in struct state */
} groups[] = {
    {"inputs", "to", WORKSPACE_INPUT, note_input, offsetof(struct state, inputs)},
    {"outputs", "name", WORKSPACE_OUTPUT, note_output, offsetof(struct state, outputs)},
    {"skills in use", "name", WORKSPACE_SKILL, note_skill, offsetof(struct state, skills)},
};

static const struct json *group_list(const struct state *state, const struct group *group)
{
    const struct json *values;
    memcpy(&values, (const char *)state + group->list, sizeof(values));
    return values;
}

static void add_group(struct treeview *tree, uint32_t parent, uint32_t workspace, const struct state *state,
                      const struct group *group, struct arena *arena)
{
    const struct json *values = group_list(state, group);
    if (!values || !values->count)
        return;
    uint32_t head =
        tree_add(tree, parent, key_of(arena, workspace, "group", group->name, strlen(group->name)), group->name);
    tree->nodes[head].kind = WORKSPACE_GROUP;
    tree->nodes[head].note = arena_printf(&tree->arena, "%u", values->count);
    uint32_t number = 0;
    json_each (value, values) {
        if (number == ENTRIES_MAX)
            break;
        CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
        group->note(&note, value);
        uint32_t node = tree_add(tree, head, arena_printf(arena, "%u %s %u", workspace, group->name, number),
                                 json_str(json_get(value, group->label), "?"));
        tree->nodes[node].kind = (uint8_t)group->kind;
        tree->nodes[node].ref = number++;
        tree->nodes[node].note = arena_strdup(&tree->arena, note.buf);
        tree->nodes[node].size = json_int(json_get(value, "size"), -1);
    }
}

/* ---- all of it ---- */

static void add_workspace(struct workspacetree *all, const struct view *view, uint32_t row, bool several)
{
    struct treeview *tree = &all->tree;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct state state;
    uint32_t parent = TREE_NONE;
    const char *id = session_name(view->session, view->session->workspaces[row].id);
    bool read = read_state(&state, view, row, &arena), gone = view->session->workspaces[row].gone;
    if (several || gone || !read) {
        parent = tree_add(tree, TREE_NONE, key_of(&arena, row, gone ? "gone" : "workspace", "", 0),
                          *id && (several || !gone) ? id : "workspace");
        tree->nodes[parent].kind = WORKSPACE_ROOT;
        tree->nodes[parent].ref = row;
        tree->nodes[parent].note = arena_strdup(&tree->arena, !read  ? "cannot be read"
                                                              : gone ? "gone with its session"
                                                                     : state.path);
        tree->nodes[parent].size = read ? state.used : -1;
        tree->nodes[parent].shut = gone;
    }
    if (!read)
        return;
    all->uses[all->use_count++] = (struct workspace_use){.row = row,
                                                         .used = state.used,
                                                         .limit = state.limit,
                                                         .count = state.count,
                                                         .count_limit = state.count_limit,
                                                         .entries = state.entries ? state.entries->count : 0,
                                                         .more = state.more};
    add_entries(tree, parent, row, &state, &arena);
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        add_group(tree, parent, row, &state, &groups[i], &arena);
}

static void add_programs(struct treeview *tree, const struct view *view)
{
    uint32_t count = view->session->program_count, head;
    if (!count)
        return;
    head = tree_add(tree, TREE_NONE, "programs", "programs");
    tree->nodes[head].kind = WORKSPACE_GROUP;
    tree->nodes[head].note = arena_printf(&tree->arena, "%u", count);
    for (uint32_t row = count > PROGRAMS_MAX ? count - PROGRAMS_MAX : 0; row < count; row++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        const char *label = arena_printf(&arena, "%s %s", session_name(view->session, view->session->programs[row].id),
                                         program_command(view, row, &arena));
        uint32_t node = tree_add(tree, head, arena_printf(&arena, "program %u", row), label);
        tree->nodes[node].kind = WORKSPACE_PROGRAM;
        tree->nodes[node].ref = row;
    }
}

static uint64_t number_of(const struct view *view)
{
    const struct session *session = view->session;
    uint64_t number = hash_fnv1a(&session->program_count, sizeof(session->program_count));
    for (uint32_t i = 0; i < session->workspace_count; i++)
        number = number * 1099511628211u ^ (session->workspaces[i].state_seq * 2ull + session->workspaces[i].gone);
    return number;
}

void workspacetree_update(struct workspacetree *tree, const struct view *view)
{
    const struct session *session = view->session;
    uint64_t number = number_of(view);
    if (tree->lines == view->lines && tree->built_of == number)
        return;
    tree->lines = view->lines;
    tree->built_of = number;
    uint32_t count = session->workspace_count, first = count > WORKSPACES_SHOWN ? count - WORKSPACES_SHOWN : 0;
    tree->use_count = 0;
    tree_begin(&tree->tree);
    add_programs(&tree->tree, view);      /* what goes on comes first */
    for (int gone = 0; gone <= 1; gone++) /* what is no more comes last */
        for (uint32_t row = first; row < count; row++)
            if (session->workspaces[row].gone == (gone == 1))
                add_workspace(tree, view, row, count > 1);
    tree_end(&tree->tree);
}

uint32_t workspacetree_owner(const struct workspacetree *tree, const struct view *view, uint32_t node)
{
    for (; node != TREE_NONE && node < tree->tree.count; node = tree->tree.nodes[node].parent)
        if (tree->tree.nodes[node].kind == WORKSPACE_ROOT)
            return tree->tree.nodes[node].ref;
    return view->session->newest_workspace;
}

bool workspacetree_gone(const struct workspacetree *tree, const struct view *view, uint32_t node)
{
    uint32_t row = workspacetree_owner(tree, view, node);
    return row != SESSION_NONE && view->session->workspaces[row].gone;
}

/* ---- one of them ---- */

static bool has_path(const struct tree_node *node)
{
    return node->kind == WORKSPACE_FOLDER || node->kind == WORKSPACE_ENTRY;
}

/* Its folders, and its name. */
static void add_path(struct strbuf *out, const struct tree_node *nodes, const struct tree_node *node)
{
    const struct tree_node *above = node->parent == TREE_NONE ? NULL : &nodes[node->parent];
    if (above && has_path(above))
        add_path(out, nodes, above);
    strbuf_addstr(out, node->label);
}

void workspacetree_path(struct strbuf *out, const struct workspacetree *tree, uint32_t index)
{
    const struct tree_node *nodes = tree->tree.nodes, *node = &nodes[index];
    if (has_path(node) || node->kind == WORKSPACE_MORE) {
        uint32_t top = index;
        while (top != TREE_NONE && nodes[top].kind != WORKSPACE_ROOT)
            top = nodes[top].parent;
        if (top != TREE_NONE)
            strbuf_addf(out, "%s: ", nodes[top].label);
    }
    add_path(out, nodes, node);
}

bool workspacetree_entry(struct strbuf *out, const struct workspacetree *tree, uint32_t index)
{
    const struct tree_node *node = &tree->tree.nodes[index];
    if (!has_path(node) && node->kind != WORKSPACE_INPUT && node->kind != WORKSPACE_OUTPUT)
        return false;
    add_path(out, tree->tree.nodes, node);
    if (node->kind == WORKSPACE_FOLDER && out->len > 1)
        strbuf_set_len(out, out->len - 1);
    return true;
}

/* The skill whose folder the path is in. */
static const struct json *skill_of(const struct json *skills, const char *path)
{
    if (strncmp(path, "skills/", 7) != 0)
        return NULL;
    CLEANUP(free) char *name = xmemdup0(path + 7, strcspn(path + 7, "/"));
    return find_by(skills, "name", name);
}

static void describe(struct pretty *out, const char *head, const struct json *value)
{
    if (!value)
        return;
    pretty_head(out, head);
    pretty_plain(out, value, 0);
}

/* What the lists of the state say about a path. */
static void describe_path(struct pretty *out, const struct state *state, const char *path)
{
    describe(out, "staged from", find_by(state->inputs, "to", path));
    describe(out, "collected as", find_by(state->outputs, "name", path));
    describe(out, "belongs to the skill", skill_of(state->skills, path));
}

void workspacetree_describe(struct pretty *out, const struct workspacetree *tree, const struct view *view,
                            uint32_t index)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct tree_node *node = &tree->tree.nodes[index];
    uint32_t row = workspacetree_owner(tree, view, index);
    struct state state;
    if (row == SESSION_NONE || !read_state(&state, view, row, &arena))
        return;
    const struct json *value = NULL;
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        if (groups[i].kind == node->kind)
            value = json_at(group_list(&state, &groups[i]), node->ref);
    bool entry = node->kind == WORKSPACE_ENTRY || (node->kind == WORKSPACE_FOLDER && node->ref != TREE_NONE);
    value = entry ? json_at(state.entries, node->ref) : value;
    const char *name = json_str(json_get(value, entry ? "path" : "name"), node->label);
    CLEANUP(free) char *where = xasprintf("in %s", state.path);
    pretty_text(out, LOOK_STRONG, name, strlen(name), 0, true);
    pretty_text(out, LOOK_DIM, where, strlen(where), 0, true);
    describe(out, entry ? "listed as" : "recorded as", value);
    if (entry)
        describe_path(out, &state, json_str(json_get(value, "path"), ""));
    else if (node->kind == WORKSPACE_INPUT || node->kind == WORKSPACE_OUTPUT)
        describe(out, "listed as", find_by(state.entries, "path", node->label));
    if (!value)
        pretty_text(out, LOOK_DIM, NOTHING_MORE, strlen(NOTHING_MORE), 0, true);
}
