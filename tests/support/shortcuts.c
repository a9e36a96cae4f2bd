/* The short forms (shortcuts.h). */

#include "shortcuts.h"
#include "base/arena.h"
#include "base/beneath.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "workspace/program.h"
#include "workspace/workspace.h"
#include <errno.h>
#include <fcntl.h>

int tree_digest_path(const char *folder, char out[HASH_SHA256_HEX], struct err *err)
{
    CLEANUP(fd) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, errno, "cannot read the folder %.200s", folder);
    return tree_digest(fd, false, 0, out, err);
}

int layout_ensure(const char *root, struct clock *clock, char *paths[LAYOUT_DIRS], struct err *err)
{
    if (file_mkdirs(root, LAYOUT_DIR_MODE, err) < 0)
        return -1;
    struct beneath *beneath = beneath_open(root, err);
    if (!beneath)
        return -1;
    int status = layout_ensure_beneath(beneath, clock, err);
    for (size_t i = 0; status == 0 && paths && i < LAYOUT_DIRS; i++)
        paths[i] = xasprintf("%s/%s", beneath_path(beneath), layout_rows[i].name);
    beneath_close(beneath);
    return status;
}

int output_spec_parse(struct output_spec *spec, const char *text, size_t len, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    *spec = (struct output_spec){0};
    const struct json *object = json_parse(&arena, text, len, err);
    return object ? output_spec_read(spec, object, err) : -1;
}

int exec_command(struct exec *exec, const struct exec_options *options, struct workspace *ws, const struct json *args,
                 exec_done *done, void *user, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct exec_request request;
    if (exec_request_read(&request, &arena, args, &options->policy, programs_root(options->programs, ws->path), err))
        return -1;
    return exec_begin(exec, ws, &request, NULL, done, user, err);
}
