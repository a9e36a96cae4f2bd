#include "proposed.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/change.h"
#include "tools/patch.h"
#include <string.h>

#define NEW_FILE_MODE 0644

static int add_file(struct change_set *set, struct beneath *root, const struct json *file, struct err *err)
{
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    const char *path = json_str(json_get(file, "path"), "");
    const char *old_digest = json_str(json_get(file, "old_digest"), "");
    const char *new_digest = json_str(json_get(file, "new_digest"), "");
    const char *diff = json_str(json_get(file, "diff"), NULL);
    struct change *change = change_set_add(set, root, path, err);
    if (!change)
        return -1;
    if (strcmp(change->old.digest, old_digest) != 0)
        return err_set(err, "%s is not what it was", path);
    struct change_side absent = {0};
    change_side_absent(&absent);
    if (strcmp(new_digest, absent.digest) == 0) {
        change_side_absent(&change->new);
    } else {
        const char *old = change->old.exists ? change->old.bytes : "";
        if (!diff || patch_apply(&after, old, change->old.exists ? change->old.len : 0, diff, err))
            return err_set(err, "the difference of %s cannot be made again", path);
        change_side_set(&change->new, after.buf, after.len, change->old.exists ? change->old.mode : NEW_FILE_MODE);
    }
    change->counts.known = false;
    if (strcmp(change->new.digest, new_digest) != 0)
        return err_set(err, "the difference of %s was not recorded whole", path);
    return 0;
}

struct change_set *proposed_again(struct beneath *root, const char *files, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct json *list = json_parse(&arena, files, strlen(files), err);
    struct change_set *set = list ? change_set_new() : NULL;
    json_each (file, list)
        if (add_file(set, root, file, err)) {
            change_set_free(set);
            return NULL;
        }
    if (set && !set->count) { /* a call that was asked about without files */
        change_set_free(set);
        err_set(err, "no files were proposed");
        return NULL;
    }
    return set;
}
