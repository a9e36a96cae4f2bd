/* Where the demo is, and the folder it plays in. */

#include "demo.h"
#include "base/file.h"
#include "base/mem.h"
#include "say.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>

/* The first of the places that has this; `below` "": a place that is there. */
static char *find(const char *below)
{
    CLEANUP(free) char *program = file_program_dir();
    const char *named = getenv("KEYTURN_FIXTURES");
    char *const places[] = {
        named && *named ? xstrdup(named) : NULL,
        xasprintf("%s/../fixtures", program),
        xasprintf("%s/../share/keyturn/fixtures", program),
    };
    char *found = NULL;
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CLEANUP(free) char *place = places[i];
        CLEANUP(free) char *path = place ? xasprintf("%s%s", place, below) : NULL;
        if (!found && path && access(path, R_OK) == 0)
            found = steal(&path);
    }
    return found;
}

char *demo_find(void)
{
    char *found = find("/demo.jsonl");
    if (!found) {
        CLEANUP(free) char *program = file_program_dir();
        say_error(STATUS_USAGE, "the demo is not here: no fixtures/demo.jsonl near %s (set KEYTURN_FIXTURES)", program);
    }
    return found;
}

char *demo_folder(void)
{
    return find("");
}

/* -1: not a folder that can be read; else whether something is in it. */
static int holds_something(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : -1;
    const struct dirent *entry;
    int found = 0;
    while (!found && (entry = readdir(dir)))
        found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return found;
}

int demo_workspace(const struct options *options, const struct recording *recording, const char *temp, char **path)
{
    struct err err = ERR_INIT;
    const char *files = recording_files(recording);
    if (options->workspace) {
        int full = holds_something(options->workspace);
        if (full < 0)
            return say_error(STATUS_USAGE, "%s: %s (name a folder)", options->workspace, strerror(errno));
        if (full)
            return say_error(STATUS_USAGE, "%s: the folder is not empty (the demo writes only into a new or empty one)",
                             options->workspace);
        *path = xstrdup(options->workspace);
    } else {
        *path = xasprintf("%s/workspace", temp);
    }
    if (file_mkdirs(*path, 0777, &err) || (files && file_copy_tree(files, *path, &err)))
        return say_error(STATUS_USAGE, "%s", err.text);
    return 0;
}
