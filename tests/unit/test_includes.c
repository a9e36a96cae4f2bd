/* The architecture as a test: which file may include which foreign library, and which folder may use which. */

#include "base/mem.h"
#include "support/test.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A foreign header, and the files that may include it (product code only). */
static const struct {
    const char *header;
    const char *files[5];
} foreign[] = {
    {"curses.h", {"tui/screen/term.c"}},
    {"ncurses", {"tui/screen/term.c"}},
    {"uv.h", {"core/base/loop.c", "core/base/child.c", "core/base/tcp.c", "core/model/http.c"}},
    {"curl/", {"core/model/http.c"}},
    {"sqlite3.h", {"core/event/store.c"}},
    {"git2", {"core/tools/diff.c"}},
    {"seccomp.h", {"harness/sandbox.c", "core/sandbox/syscall_filter.c"}},
    {"Python.h", {"harness/pyhost.c"}},
    {"vterm.h", {"tui/screen/program_screen.c"}},
    {"utf8proc.h", {"core/base/width.c"}},
    {"pcre2.h", {"core/tools/search.c"}},
    {"cjson/", {"core/base/doc.c"}},
};

/* A folder, and the folders of core/ it may use besides itself. Arrows point down only. */
static const struct {
    const char *folder;
    const char *uses[12];
} layers[] = {
    {"core/base", {NULL}},
    {"core/workspace", {"base", "event", "sandbox"}},
    {"core/event", {"base"}},
    {"core/model", {"base", "event"}},
    {"core/sandbox", {"base", "event"}},
    {"core/tools", {"base", "event", "workspace", "model", "sandbox"}},
    {"core/mcp", {"base", "event", "tools"}},
    {"core/config", {"base", "event", "model", "sandbox", "tools", "turn", "mcp"}},
    {"core/turn", {"base", "workspace", "event", "model", "sandbox", "tools"}},
    {"tui/screen", {"base"}},
    {"tui/panes", {"base", "event", "tools", "turn", "workspace", "screen", "dialogs", "app"}},
    {"tui/dialogs", {"base", "event", "mcp", "sandbox", "tools", "turn", "workspace", "screen", "panes", "app"}},
    {"tui/app",
     {"base", "event", "model", "sandbox", "tools", "turn", "config", "mcp", "screen", "panes", "dialogs",
      "workspace"}},
    {"tui/cli",
     {"base", "event", "model", "sandbox", "workspace", "tools", "turn", "config", "mcp", "screen", "panes", "app"}},
    {"harness", {"base"}},
};

static size_t files_seen;

static bool in_list(const char *const *list, size_t room, const char *text)
{
    for (size_t i = 0; i < room && list[i]; i++)
        if (strcmp(list[i], text) == 0)
            return true;
    return false;
}

static void check_foreign(const char *path, const char *header)
{
    for (size_t i = 0; i < COUNT_OF(foreign); i++)
        if (strstr(header, foreign[i].header) == header && !in_list(foreign[i].files, COUNT_OF(foreign[i].files), path))
            fail_msg("%s includes <%s>", path, header);
}

static void check_layer(const char *path, const char *header)
{
    const char *slash = strchr(header, '/');
    CLEANUP(free) char *folder = NULL;
    if (!slash)
        return; /* a neighbor */
    folder = xmemdup0(header, (size_t)(slash - header));
    for (size_t i = 0; i < COUNT_OF(layers); i++) {
        size_t len = strlen(layers[i].folder);
        const char *own = strrchr(layers[i].folder, '/');
        if (strncmp(path, layers[i].folder, len) != 0 || path[len] != '/')
            continue;
        if (own && strcmp(own + 1, folder) == 0)
            return;
        if (!in_list(layers[i].uses, COUNT_OF(layers[i].uses), folder))
            fail_msg("%s includes \"%s\"", path, header);
        return;
    }
    fail_msg("%s is in no known folder", path);
}

static void check_file(const char *path)
{
    CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, path);
    FILE *file = fopen(full, "r");
    char line[512], header[256];
    assert_non_null(file);
    files_seen++;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "#include <%255[^>]>", header) == 1)
            check_foreign(path, header);
        else if (sscanf(line, "#include \"%255[^\"]\"", header) == 1)
            check_layer(path, header);
    }
    fclose(file);
}

static void walk(const char *path)
{
    CLEANUP(free) char *full = xasprintf("%s/%s", SOURCE_DIR, path);
    DIR *dir = opendir(full);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        CLEANUP(free) char *below = xasprintf("%s/%s", path, entry->d_name);
        CLEANUP(free) char *target = xasprintf("%s/%s", SOURCE_DIR, below);
        const char *dot = strrchr(entry->d_name, '.');
        struct stat st;
        if (entry->d_name[0] == '.' || stat(target, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            walk(below);
        else if (dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0))
            check_file(below);
    }
    if (dir)
        closedir(dir);
}

TEST(includes_follow_the_table)
{
    walk("core");
    walk("tui");
    walk("harness");
    assert_true(files_seen > 50);
}
