/* The list of what is in a workspace (listing.h): a bounded part of its files, and for every folder in it the total of
 * its content, listed or not. Higher levels come first. Within one level all folders get an equal share of the list, so
 * that none takes all of it. In a folder, folders come before files, both by name.
 *
 * The walk counts everything and keeps candidates of each folder; the listed entries are chosen afterwards. To keep
 * memory small for a huge tree, the number of candidates per folder and per depth is limited to a few times the
 * length of the list. A file with several names counts in each folder that has one. */

#include "listing.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/walk.h"
#include "layout.h"
#include "metadata.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 500          /* listed */
#define FOLDER_MAX  100          /* of them in one folder */
#define LEVEL_MAX   2000         /* candidates kept at one depth */
#define PATHS_MAX   (128u << 10) /* bytes of all listed paths */
#define TARGET_MAX  200          /* of a link; a longer target is left out */

struct node {
    struct node *parent; /* NULL: the root */
    unsigned char type;
    bool listed;
    int depth;
    int64_t bytes, count; /* a file's own, or the totals of a folder */
    char *name, *target;  /* target: of a link, NULL */
    size_t path_len;
    struct node **kept; /* in order */
    size_t kept_count, kept_room;
};

struct listing {
    const char *const *folders; /* whose files are counted */
    size_t folder_count;
    int64_t *files; /* in each of them */
    struct node root;
    struct node *way[WALK_DEPTH_MAX + 1]; /* the folders from the root to the current position; NULL: not kept */
    size_t level[WALK_DEPTH_MAX + 1];     /* candidates at each depth … */
    size_t most[WALK_DEPTH_MAX + 1];      /* … and the maximum of one folder there */
    struct node *chosen[ENTRIES_MAX];
    size_t chosen_count, paths;
};

static const char *kind_of(unsigned char type)
{
    switch (type) {
    case DT_REG:
        return "file";
    case DT_DIR:
        return "dir";
    case DT_LNK:
        return "link";
    case DT_FIFO:
        return "pipe";
    case DT_SOCK:
        return "socket";
    default:
        return "other";
    }
}

/* ---- candidates ---- */

static void forget_tree(struct listing *l, struct node *node)
{
    for (size_t i = 0; i < node->kept_count; i++)
        forget_tree(l, node->kept[i]);
    free(node->kept);
    if (node == &l->root)
        return;
    l->level[node->depth]--;
    free(node->name);
    free(node->target);
    free(node);
}

/* Sort order in a folder: in the root the folders of the layout, then folders, then the rest. */
static size_t rank(const struct walk_entry *entry)
{
    static const enum layout_dir first[] = {LAYOUT_OUT, LAYOUT_WORK, LAYOUT_SKILLS, LAYOUT_RUNS};
    for (size_t i = 0; entry->depth == 0 && i < COUNT_OF(first); i++)
        if (strcmp(entry->name, layout_rows[first[i]].name) == 0)
            return i;
    return COUNT_OF(first) + (entry->type != DT_DIR);
}

static int compare(const struct walk_entry *entry, const struct node *node)
{
    struct walk_entry other = {.name = node->name, .type = node->type, .depth = node->depth};
    size_t left = rank(entry), right = rank(&other);
    return left == right ? strcmp(entry->name, node->name) : left < right ? -1 : 1;
}

static size_t place_in(const struct node *folder, const struct walk_entry *entry)
{
    size_t low = 0, high = folder->kept_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(entry, folder->kept[middle]) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static char *read_target(const struct walk_entry *entry)
{
    char target[TARGET_MAX + 1];
    ssize_t len = entry->type == DT_LNK ? readlinkat(entry->dir_fd, entry->name, target, sizeof(target)) : -1;
    return len > 0 && len <= TARGET_MAX ? xmemdup0(target, (size_t)len) : NULL;
}

/* Applies to every folder whose entries are at this depth. */
static void trim(struct listing *l, struct node *folder, int depth)
{
    if (depth > 0) {
        for (size_t i = 0; i < folder->kept_count; i++)
            trim(l, folder->kept[i], depth - 1);
        return;
    }
    while (folder->kept_count && folder->kept_count > l->most[folder->kept[0]->depth])
        forget_tree(l, folder->kept[--folder->kept_count]);
}

/* Reduces the share of every folder at this depth if there are too many candidates. */
static void make_room(struct listing *l, int depth)
{
    while (l->level[depth] >= LEVEL_MAX && l->most[depth] > 1) {
        l->most[depth] /= 2;
        trim(l, &l->root, depth);
    }
}

/* NULL: no room in its folder. */
static struct node *keep(struct listing *l, struct node *folder, const struct walk_entry *entry)
{
    make_room(l, entry->depth);
    size_t at = place_in(folder, entry), most = l->most[entry->depth];
    if (at >= most || (folder->kept_count < most && l->level[entry->depth] >= LEVEL_MAX))
        return NULL;
    if (folder->kept_count == most)
        forget_tree(l, folder->kept[--folder->kept_count]);
    struct node *node = xcalloc(1, sizeof(*node));
    *node = (struct node){.parent = folder,
                          .type = entry->type,
                          .depth = entry->depth,
                          .name = xstrdup(entry->name),
                          .target = read_target(entry),
                          .path_len = entry->path_len};
    l->level[entry->depth]++;
    GROW(folder->kept, folder->kept_count, folder->kept_room);
    memmove(&folder->kept[at + 1], &folder->kept[at], (folder->kept_count - at) * sizeof(struct node *));
    folder->kept[at] = node;
    folder->kept_count++;
    return node;
}

static void add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = INT64_MAX;
}

static void count_in_folders(const struct listing *l, const struct walk_entry *entry)
{
    for (size_t i = 0; i < l->folder_count && entry->type == DT_REG; i++) {
        const char *folder = l->folders[i];
        size_t len = folder ? strlen(folder) : 0;
        l->files[i] += len && strncmp(entry->path, folder, len) == 0 && entry->path[len] == '/';
    }
}

struct listing *listing_new(const char *const *folders, size_t folder_count)
{
    struct listing *l = xcalloc(1, sizeof(*l));
    *l = (struct listing){.folders = folders, .folder_count = folder_count, .root = {.type = DT_DIR}};
    l->files = xcalloc(folder_count + 1, sizeof(*l->files));
    l->way[0] = &l->root;
    for (size_t i = 0; i < COUNT_OF(l->most); i++)
        l->most[i] = FOLDER_MAX;
    return l;
}

void listing_add(struct listing *l, const struct walk_entry *entry, int64_t size)
{
    if (entry->depth == 0 && (strcmp(entry->name, LAYOUT_METADATA) == 0 || metadata_is_temp(entry->path))) {
        l->way[1] = NULL;
        return;
    }
    count_in_folders(l, entry);
    for (int i = 0; i <= entry->depth && i <= WALK_DEPTH_MAX && l->way[i]; i++) {
        l->way[i]->count++;
        add(&l->way[i]->bytes, size);
    }
    struct node *folder = entry->depth <= WALK_DEPTH_MAX ? l->way[entry->depth] : NULL;
    struct node *node = folder ? keep(l, folder, entry) : NULL;
    if (node)
        node->bytes = size;
    if (entry->type == DT_DIR && entry->depth < WALK_DEPTH_MAX)
        l->way[entry->depth + 1] = node;
}

/* ---- choosing entries ---- */

/* The largest share per folder with which all of them fit; 1 if even that is too much. */
static size_t share(struct node *const *folders, size_t count, size_t room)
{
    for (size_t most = FOLDER_MAX; most > 1; most--) {
        size_t sum = 0;
        for (size_t i = 0; i < count && sum <= room; i++)
            sum += folders[i]->kept_count < most ? folders[i]->kept_count : most;
        if (sum <= room)
            return most;
    }
    return 1;
}

static void choose(struct listing *l, struct node *node)
{
    if (l->chosen_count == ENTRIES_MAX || l->paths + node->path_len > PATHS_MAX)
        return;
    node->listed = true;
    l->paths += node->path_len;
    l->chosen[l->chosen_count++] = node;
}

/* Level by level, from the root. */
static void choose_all(struct listing *l)
{
    struct node *root = &l->root, **folders = &root;
    size_t count = 1, begin = 0;
    while (count && l->chosen_count < ENTRIES_MAX) {
        size_t before = l->chosen_count, most = share(folders, count, ENTRIES_MAX - before);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < folders[i]->kept_count && k < most; k++)
                choose(l, folders[i]->kept[k]);
        begin = before;
        folders = l->chosen + begin;
        count = l->chosen_count - begin;
    }
}

static int64_t not_listed(const struct node *folder)
{
    int64_t left = folder->count;
    for (size_t i = 0; i < folder->kept_count; i++)
        if (folder->kept[i]->listed)
            left -= folder->kept[i]->count + 1;
    return left;
}

static void add_path(struct strbuf *out, const struct node *node)
{
    if (node->parent->parent) {
        add_path(out, node->parent);
        strbuf_addch(out, '/');
    }
    strbuf_addstr(out, node->name);
}

static struct event_workspace_entry list_node(struct arena *arena, const struct node *node)
{
    CLEANUP(strbuf) struct strbuf path = STRBUF_INIT;
    add_path(&path, node);
    bool folder = node->type == DT_DIR;
    int64_t more = folder ? not_listed(node) : 0;
    return (struct event_workspace_entry){.path = arena_memdup0(arena, path.buf, path.len),
                                          .size = node->type == DT_REG ? node->bytes : EVENT_NULL_INT,
                                          .kind = kind_of(node->type),
                                          .bytes = folder ? node->bytes : EVENT_NULL_INT,
                                          .count = folder ? node->count : EVENT_NULL_INT,
                                          .more = more ? more : EVENT_NULL_INT,
                                          .target = node->target ? arena_strdup(arena, node->target) : NULL};
}

struct event_workspace_entry_list listing_end(struct listing *l, struct arena *arena, int64_t *more)
{
    choose_all(l);
    struct event_workspace_entry *items = arena_calloc(arena, l->chosen_count + 1, sizeof(*items));
    for (size_t i = 0; i < l->chosen_count; i++)
        items[i] = list_node(arena, l->chosen[i]);
    *more = l->root.count - (int64_t)l->chosen_count;
    return (struct event_workspace_entry_list){items, l->chosen_count};
}

const int64_t *listing_files(const struct listing *l)
{
    return l->files;
}

void listing_free(struct listing *l)
{
    forget_tree(l, &l->root);
    free(l->files);
    free(l);
}
