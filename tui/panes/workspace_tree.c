/* Builds the workspace tree from the newest workspace.state. Entries are paths in any order, from programs that may
 * create any name. They are sorted so that the content of a folder follows it. Folders that are missing from the list
 * are added. The four folders of every workspace always exist and come first. */

#include "workspace_tree.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/mem.h"
#include "event/workspace_state.h"
#include "program.h"
#include "screen/text.h"
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX  20000
#define MORE_MAX     1000000000000 /* entries that are not listed: a recording may claim any number */
#define PROGRAMS_MAX 200
#define NOTHING_MORE "No more details were recorded."
#define NOTED_MAX    200 /* items of a list; a longer list is not searched for notes */
#define FOLDERS_MAX  32  /* nesting depth; deeper entries are shown with the rest of their path */

static const char *const folders[] = {"skills", "work", "runs", "out"};

void workspacetree_release(struct workspacetree *tree)
{
    tree_release(&tree->tree);
}

/* ---- the state ---- */

struct state {
    struct workspace_content content; /* release it */
    const char *path;
    int64_t used, limit, count, count_limit, more;
};

static const struct event_workspace_state *lists(const struct state *state)
{
    return &state->content.state;
}

static int64_t bound_more(int64_t more)
{
    return more < 0 ? 0 : more < MORE_MAX ? more : MORE_MAX;
}

static bool read_state(struct state *state, const struct view *view, uint32_t row)
{
    const struct session_workspace *workspace = &view->session->workspaces[row];
    const struct event *event = view_event_of(view, workspace->state_seq, EVENT_WORKSPACE_STATE);
    if (!event)
        return false;
    workspace_content_begin(&state->content, event);
    for (uint32_t i = 0; i < workspace->delta_count; i++)
        if ((event = view_event_of(view, workspace->deltas[i], EVENT_WORKSPACE_STATE)))
            workspace_content_apply(&state->content, event);
    const struct event_workspace_state *e = lists(state);
    state->path = e->path ? e->path : "";
    state->used = e->used > 0 ? e->used : 0;
    state->limit = e->limit < 0 ? -1 : e->limit;
    state->count = bound_more(e->count);
    state->count_limit = e->count_limit <= 0 ? -1 : e->count_limit;
    state->more = bound_more(e->more);
    return true;
}

const struct workspace_use *workspacetree_use(const struct workspacetree *tree, uint32_t row)
{
    for (size_t i = 0; i < tree->use_count; i++)
        if (tree->uses[i].row == row)
            return &tree->uses[i];
    return NULL;
}

/* ---- notes on an entry ---- */

/* The version comes first: on a narrow pane it is more useful than the folder. */
static void add_version(struct strbuf *out, int64_t version)
{
    if (version >= 0) /* EVENT_NULL_INT is negative */
        strbuf_addf(out, "v%lld ", (long long)version);
}

static void note_input(struct strbuf *out, const struct event_workspace_input *input)
{
    strbuf_addstr(out, "from ");
    add_version(out, input->version);
    strbuf_addstr(out, input->from ? input->from : "?");
    if (input->mode && *input->mode)
        strbuf_addf(out, ", %s", input->mode);
}

static void note_output(struct strbuf *out, const struct event_workspace_output *output)
{
    if (output->saved_as && *output->saved_as) {
        strbuf_addstr(out, "saved as ");
        add_version(out, output->version);
        strbuf_addstr(out, output->saved_as);
    } else {
        strbuf_addstr(out, "not saved");
    }
    if (output->truncated)
        strbuf_addstr(out, ", cut");
}

static void note_skill(struct strbuf *out, const struct event_workspace_skill *skill)
{
    text_plural(out, skill->files, "file", "files");
    strbuf_addf(out, ", %.12s", skill->digest ? skill->digest : "no digest");
}

/* The first item of a list whose `member` is this text; SIZE_MAX: none. */
#define FIND(list, member, text) \
    find_text((list)->items, (list)->count, sizeof(*(list)->items), offsetof(typeof(*(list)->items), member), text)

static size_t find_text(const void *items, size_t count, size_t size, size_t offset, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        const char *said = *(const char *const *)((const char *)items + i * size + offset);
        if (strcmp(said ? said : "", text) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Adds the source and the saved copy of an entry, unless the lists are so long that the search would be slow. */
static void note_entry(struct strbuf *out, const struct state *state, const char *path)
{
    const struct event_workspace_state *e = lists(state);
    size_t input = e->inputs.count <= NOTED_MAX ? FIND(&e->inputs, to, path) : SIZE_MAX;
    size_t output = e->outputs.count <= NOTED_MAX ? FIND(&e->outputs, name, path) : SIZE_MAX;
    bool skilled = strncmp(path, "skills/", 7) == 0 && e->skills.count <= NOTED_MAX;
    size_t skill = skilled ? FIND(&e->skills, name, path + 7) : SIZE_MAX;
    if (input != SIZE_MAX)
        note_input(out, &e->inputs.items[input]);
    if (output != SIZE_MAX)
        note_output(out, &e->outputs.items[output]);
    if (skill != SIZE_MAX)
        note_skill(out, &e->skills.items[skill]);
}

/* ---- entries ---- */

struct tree_entry {
    const char *path;
    const struct event_workspace_entry *value; /* NULL: a folder that every workspace has */
    uint32_t number;
};

/* The first sort key of a path: which of the four folders it is in. */
static size_t rank(const char *path)
{
    size_t len = strcspn(path, "/");
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (strlen(folders[i]) == len && strncmp(folders[i], path, len) == 0)
            return i;
    return COUNT_OF(folders);
}

/* Compares bytes, with the slash before all others, so that the content of a folder comes right after it. */
static int compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    int left = *a == '/' ? 1 : *a ? (unsigned char)*a + 1 : 0, right = *b == '/' ? 1 : *b ? (unsigned char)*b + 1 : 0;
    return left - right;
}

static int compare_entries(const void *a, const void *b)
{
    const struct tree_entry *left = a, *right = b;
    size_t first = rank(left->path), second = rank(right->path);
    int order = first == second ? compare_paths(left->path, right->path) : first < second ? -1 : 1;
    return order ? order : left->number < right->number ? -1 : left->number > right->number;
}

/* A short key, however long the path is. */
static char *key_of(struct arena *arena, uint32_t workspace, const char *kind, const char *path, size_t len)
{
    return arena_printf(arena, "%u %s %016llx", workspace, kind, (unsigned long long)hash_fnv1a(path, len));
}

/* The folders on the path of the entry being added. */
struct step {
    uint32_t node;
    size_t end;   /* length of the path up to this folder */
    int64_t more; /* entries in it that are not listed */
};

struct way {
    struct step *steps;
    size_t depth, room;
    int64_t more; /* sum over all folders so far */
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

/* Leaves a folder. Its unlisted entries come last in it. */
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

/* Adds the type of an entry that is neither a file nor a folder. */
static void note_kind(struct strbuf *out, const struct event_workspace_entry *value)
{
    const char *kind = value && value->kind ? value->kind : "", *target = value && value->target ? value->target : "";
    if (strcmp(kind, "link") == 0)
        strbuf_addf(out, "link%s%s", *target ? " to " : "", target);
    else if (strcmp(kind, "pipe") == 0 || strcmp(kind, "socket") == 0)
        strbuf_addstr(out, kind);
    else if (strcmp(kind, "other") == 0)
        strbuf_addstr(out, "special file");
}

static int64_t or_else(int64_t number, int64_t otherwise)
{
    return number == EVENT_NULL_INT ? otherwise : number;
}

static void add_entry(struct treeview *tree, uint32_t parent, uint32_t workspace, struct way *way, const char *before,
                      const struct state *state, const struct tree_entry *entry, struct arena *arena)
{
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    const char *path = entry->path;
    /* Go up to the last folder that this path and the previous one share. */
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
        bool listed = last && entry->value;
        bool folder = !listed || (entry->value->kind && strcmp(entry->value->kind, "dir") == 0);
        uint32_t node = tree_add(tree, way->depth ? way->steps[way->depth - 1].node : parent,
                                 key_of(arena, workspace, "entry", path, end),
                                 arena_printf(arena, "%.*s%s", (int)(end - begin), path + begin, folder ? "/" : ""));
        struct tree_node *added = &tree->nodes[node];
        added->kind = folder ? WORKSPACE_FOLDER : WORKSPACE_ENTRY;
        added->ref = listed ? entry->number : TREE_NONE;
        added->size = folder ? 0 : or_else(entry->value->size, -1);
        push(way, node, end);
        at = end;
    }
    if (!way->depth || end_of(way) != strlen(path))
        return; /* it exists already */
    struct step *last = &way->steps[way->depth - 1];
    struct tree_node *node = &tree->nodes[last->node];
    if (node->kind == WORKSPACE_FOLDER && entry->value && entry->value->bytes >= 0) {
        node->sure = true;
        node->size = entry->value->bytes;
        last->more = bound_more(or_else(entry->value->more, 0));
    }
    note_entry(&note, state, path);
    if (!note.len)
        note_kind(&note, entry->value);
    if (note.len)
        node->note = arena_strdup(&tree->arena, note.buf);
}

/* Older recordings have no sizes of folders: then a folder's size is the sum of its listed entries. The size of
 * unlisted entries is the rest of their folder's size. */
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
    const struct event_workspace_entry_list *all = &lists(state)->entries;
    size_t listed = all->count < ENTRIES_MAX ? all->count : ENTRIES_MAX, count = 0;
    struct tree_entry *entries = arena_calloc(arena, listed + COUNT_OF(folders), sizeof(*entries));
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        entries[count++] = (struct tree_entry){.path = folders[i], .number = TREE_NONE};
    for (size_t i = 0; i < all->count && count < listed + COUNT_OF(folders); i++) {
        const char *path = all->items[i].path;
        if (path && *path)
            entries[count++] = (struct tree_entry){path, &all->items[i], (uint32_t)i};
    }
    qsort(entries, count, sizeof(*entries), compare_entries);
    struct way way = {0};
    const char *before = "";
    uint32_t first = tree->count;
    for (size_t i = 0; i < count; i++) {
        /* Merge equal paths. A listed entry replaces a folder that always exists. */
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
    int64_t more = state->more - way.more + (int64_t)(all->count - listed);
    if (more > 0) {
        CLEANUP(strbuf) struct strbuf words = STRBUF_INIT;
        text_count(&words, more);
        strbuf_addstr(&words, " more not listed");
        tree->nodes[tree_add(tree, parent, key_of(arena, workspace, "more", "", 0), words.buf)].kind = WORKSPACE_MORE;
    }
}

/* ---- staged inputs, collected outputs, skills ---- */

/* The group that is being filled. */
struct group {
    struct treeview *tree;
    struct arena *arena;
    const char *name;
    enum workspace_kind kind;
    uint32_t workspace, head;
};

static struct group begin_group(struct treeview *tree, uint32_t parent, uint32_t workspace, const char *name,
                                enum workspace_kind kind, size_t count, struct arena *arena)
{
    struct group group = {.tree = tree, .arena = arena, .name = name, .kind = kind, .workspace = workspace};
    if (!count)
        return group;
    group.head = tree_add(tree, parent, key_of(arena, workspace, "group", name, strlen(name)), name);
    tree->nodes[group.head].kind = WORKSPACE_GROUP;
    tree->nodes[group.head].note = arena_printf(&tree->arena, "%zu", count);
    return group;
}

static void add_member(const struct group *group, size_t number, const char *label, int64_t size, struct strbuf *note)
{
    char *key = arena_printf(group->arena, "%u %s %zu", group->workspace, group->name, number);
    uint32_t index = tree_add(group->tree, group->head, key, label ? label : "?");
    struct tree_node *node = &group->tree->nodes[index];
    node->kind = (uint8_t)group->kind;
    node->ref = (uint32_t)number;
    node->note = arena_strdup(&group->tree->arena, note->buf);
    node->size = size;
    strbuf_reset(note);
}

static void add_groups(struct treeview *tree, uint32_t parent, uint32_t workspace, const struct state *state,
                       struct arena *arena)
{
    const struct event_workspace_state *e = lists(state);
    CLEANUP(strbuf) struct strbuf note = STRBUF_INIT;
    struct group group = begin_group(tree, parent, workspace, "inputs", WORKSPACE_INPUT, e->inputs.count, arena);
    for (size_t i = 0; i < e->inputs.count && i < ENTRIES_MAX; i++) {
        note_input(&note, &e->inputs.items[i]);
        add_member(&group, i, e->inputs.items[i].to, -1, &note);
    }
    group = begin_group(tree, parent, workspace, "outputs", WORKSPACE_OUTPUT, e->outputs.count, arena);
    for (size_t i = 0; i < e->outputs.count && i < ENTRIES_MAX; i++) {
        note_output(&note, &e->outputs.items[i]);
        add_member(&group, i, e->outputs.items[i].name, e->outputs.items[i].size, &note);
    }
    group = begin_group(tree, parent, workspace, "skills in use", WORKSPACE_SKILL, e->skills.count, arena);
    for (size_t i = 0; i < e->skills.count && i < ENTRIES_MAX; i++) {
        note_skill(&note, &e->skills.items[i]);
        add_member(&group, i, e->skills.items[i].name, -1, &note);
    }
}

/* ---- building the tree ---- */

static void add_workspace(struct workspacetree *all, const struct view *view, uint32_t row, bool several)
{
    struct treeview *tree = &all->tree;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct state state;
    uint32_t parent = TREE_NONE;
    const char *id = session_name(view->session, view->session->workspaces[row].id);
    bool read = read_state(&state, view, row), gone = view->session->workspaces[row].gone;
    if (several || gone || !read) {
        parent = tree_add(tree, TREE_NONE, key_of(&arena, row, gone ? "gone" : "workspace", "", 0),
                          *id && (several || !gone) ? id : "workspace");
        tree->nodes[parent].kind = WORKSPACE_ROOT;
        tree->nodes[parent].ref = row;
        tree->nodes[parent].note = arena_strdup(&tree->arena, !read  ? "unreadable"
                                                              : gone ? "deleted with its session"
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
                                                         .entries = (int64_t)lists(&state)->entries.count,
                                                         .more = state.more};
    add_entries(tree, parent, row, &state, &arena);
    add_groups(tree, parent, row, &state, &arena);
    workspace_content_release(&state.content);
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
        const struct session_program *program = &view->session->programs[row];
        CLEANUP(free) char *label = xasprintf("%s %s", session_name(view->session, program->id), program->cmd);
        CLEANUP(free) char *key = xasprintf("program %u", row);
        uint32_t node = tree_add(tree, head, key, label);
        tree->nodes[node].kind = WORKSPACE_PROGRAM;
        tree->nodes[node].ref = row;
    }
}

static uint64_t number_of(const struct view *view)
{
    const struct session *session = view->session;
    uint64_t number = hash_fnv1a(&session->program_count, sizeof(session->program_count));
    for (uint32_t i = 0; i < session->workspace_count; i++)
        number = number * 1099511628211u ^ (session->workspaces[i].newest_seq * 2ull + session->workspaces[i].gone);
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
    add_programs(&tree->tree, view);      /* running programs come first */
    for (int gone = 0; gone <= 1; gone++) /* deleted workspaces come last */
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

/* ---- details of a node ---- */

static bool has_path(const struct tree_node *node)
{
    return node->kind == WORKSPACE_FOLDER || node->kind == WORKSPACE_ENTRY;
}

/* Adds its folders and its name. */
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

/* The skill whose folder contains the path; SIZE_MAX: none. */
static size_t skill_of(const struct event_workspace_skill_list *skills, const char *path)
{
    if (strncmp(path, "skills/", 7) != 0)
        return SIZE_MAX;
    CLEANUP(free) char *name = xmemdup0(path + 7, strcspn(path + 7, "/"));
    return FIND(skills, name, name);
}

/* The event that recorded an item of a list. */
static struct workspace_origin origin_of(const struct workspace_content *content, const char *list, size_t index)
{
    if (strcmp(list, "entries") == 0)
        return index < content->state.entries.count ? content->entry_from[index]
                                                    : (struct workspace_origin){content->inputs_from, SIZE_MAX};
    const struct event *event = strcmp(list, "inputs") == 0    ? content->inputs_from
                                : strcmp(list, "outputs") == 0 ? content->outputs_from
                                                               : content->skills_from;
    return (struct workspace_origin){event, index};
}

/* Adds an item of a list of the state, as its event has it; false if there is none. */
static bool describe(struct document *out, const char *head, const struct view *view, const struct state *state,
                     const char *list, size_t index)
{
    bool is_listed = list && index != SIZE_MAX;
    struct workspace_origin from = is_listed ? origin_of(&state->content, list, index) : (struct workspace_origin){0};
    const struct json *value =
        is_listed ? json_at(event_raw_json(from.event, list, view_arena(view)), from.index) : NULL;
    if (!value)
        return false;
    document_head(out, head);
    document_plain(out, value, 0);
    return true;
}

/* Adds what the lists of the state contain about a path. */
static void describe_path(struct document *out, const struct view *view, const struct state *state, const char *path)
{
    const struct event_workspace_state *e = lists(state);
    describe(out, "staged from", view, state, "inputs", FIND(&e->inputs, to, path));
    describe(out, "collected as", view, state, "outputs", FIND(&e->outputs, name, path));
    describe(out, "belongs to the skill", view, state, "skills", skill_of(&e->skills, path));
}

/* The list of the state that a node is an item of; NULL: none. */
static const char *list_of(const struct tree_node *node)
{
    switch (node->kind) {
    case WORKSPACE_ENTRY:
        return "entries";
    case WORKSPACE_FOLDER:
        return node->ref != TREE_NONE ? "entries" : NULL;
    case WORKSPACE_INPUT:
        return "inputs";
    case WORKSPACE_OUTPUT:
        return "outputs";
    case WORKSPACE_SKILL:
        return "skills";
    default:
        return NULL;
    }
}

void workspacetree_describe(struct document *out, const struct workspacetree *tree, const struct view *view,
                            uint32_t index)
{
    const struct tree_node *node = &tree->tree.nodes[index];
    uint32_t row = workspacetree_owner(tree, view, index);
    struct state state;
    if (row == SESSION_NONE || !read_state(&state, view, row))
        return;
    const struct event_workspace_entry_list *entries = &lists(&state)->entries;
    const char *list = list_of(node);
    bool entry = has_path(node) && list && node->ref < entries->count;
    const char *path = entry ? entries->items[node->ref].path : NULL, *name = path ? path : node->label;
    CLEANUP(free) char *where = xasprintf("in %s", state.path);
    document_text(out, LOOK_STRONG, name, strlen(name), 0, true);
    document_text(out, LOOK_DIM, where, strlen(where), 0, true);
    bool known = describe(out, entry ? "listed as" : "recorded as", view, &state, list, node->ref);
    if (path)
        describe_path(out, view, &state, path);
    else if (node->kind == WORKSPACE_INPUT || node->kind == WORKSPACE_OUTPUT)
        describe(out, "listed as", view, &state, "entries", FIND(entries, path, node->label));
    if (!known)
        document_text(out, LOOK_DIM, NOTHING_MORE, strlen(NOTHING_MORE), 0, true);
    workspace_content_release(&state.content);
}
