/* Makes a recorded proposal again. */

#include "proposed.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "tools/change.h"
#include "tools/patch.h"
#include <string.h>

#define NEW_FILE_MODE 0644

static bool is_empty_file(const char *digest)
{
    char empty[HASH_SHA256_HEX];
    hash_sha256("", 0, empty);
    return strcmp(digest, empty) == 0;
}

static bool is_absent(const char *digest)
{
    struct change_side absent = {0};
    change_side_absent(&absent);
    return strcmp(digest, absent.digest) == 0;
}

/* What the file becomes, as far as the recording tells: whoever calls compares the digest. An empty file that is made
 * has no difference to be made from. */
static void make_new(struct change *change, const char *digest, const char *diff)
{
    CLEANUP(strbuf) struct strbuf after = STRBUF_INIT;
    struct err err = ERR_INIT;
    const char *old = change->old.exists ? change->old.bytes : "";
    size_t old_len = change->old.exists ? change->old.len : 0;
    if (is_absent(digest))
        change_side_absent(&change->new);
    else if (is_empty_file(digest) || (diff && patch_apply(&after, old, old_len, diff, &err) == 0))
        change_side_set(&change->new, after.buf, after.len, change->old.exists ? change->old.mode : NEW_FILE_MODE);
    change->counts.known = false;
}

static int add_file(struct change_set *set, struct beneath *root, const struct event_proposed_file *file, bool *lost,
                    struct err *err)
{
    const char *path = file->path ? file->path : "";
    const char *old_digest = file->old_digest ? file->old_digest : "";
    const char *new_digest = file->new_digest ? file->new_digest : "";
    struct change *change = change_set_add(set, root, path, err);
    if (!change)
        return -1;
    if (strcmp(change->old.digest, old_digest) != 0)
        return err_set(err, "%s is not what it was", path);
    make_new(change, new_digest, file->diff);
    *lost = strcmp(change->new.digest, new_digest) != 0;
    if (*lost && file->binary)
        return err_set(err, "%s is binary, and the recording does not hold its bytes", path);
    if (*lost)
        return err_set(err, "the difference of %s was not recorded whole", path);
    return 0;
}

struct change_set *proposed_again(struct beneath *root, const struct event_proposed_file_list *files, bool *lost,
                                  struct err *err)
{
    *lost = false;
    if (!files->count) { /* a call that was asked about without files */
        err_set(err, "no files were proposed");
        return NULL;
    }
    struct change_set *set = change_set_new();
    for (size_t i = 0; i < files->count; i++)
        if (add_file(set, root, &files->items[i], lost, err)) {
            change_set_free(set);
            return NULL;
        }
    return set;
}
