#pragma once
/* A workspace as a case describes it: its files, those beside it and on the host, and the files afterwards. Members
 * with the same meaning in every area are read and compared here. */

#include "base/err.h"
#include "vector.h"

struct versions;
struct workspace;

struct workspace_rig {
    struct vector *v;
    char *folder; /* parent of all files of the case */
    struct workspace *ws;
    struct versions *versions; /* NULL if the case has none */
};

/* Input members: tree dirs symlinks modes outside host host_modes host_file artifacts service metadata_file
 * metadata_is_dir. Placeholders: hostdir hostfile outside workspace root. */
void workspace_rig_init(struct workspace_rig *rig, struct vector *v);
void workspace_rig_release(struct workspace_rig *rig);

/* A folder for cases that need no workspace, below the rig's or a new one; the arena's. */
const char *rig_temp_dir(struct vector *v);
void rig_write(struct vector *v, const char *folder, const char *path, const char *text, size_t len);
/* The files of an object {path: content} and the folders of a list. */
void rig_write_tree(struct vector *v, const char *folder, const struct json *tree);
void rig_make_dirs(struct vector *v, const char *folder, const struct json *dirs);
void rig_make_links(struct vector *v, const char *folder, const struct json *links);
/* {path: "0755"} */
void rig_set_modes(struct vector *v, const char *folder, const struct json *modes);
/* Permission bits as cases write them ("0644"), NULL for a missing file; the arena's. */
const char *rig_mode(struct vector *v, const char *folder, const char *path);

/* `error`: true, part of its text, or null. A case without it expects none. */
void tell_error(struct vector *v, const struct err *err, bool failed);
/* Of the tree at `folder`: files{path: content} absent[] modes{path: "0644"}. */
void tell_files(struct vector *v, const char *folder);
/* is_symlink link_target */
void tell_link(struct vector *v, const char *folder, const char *path);
/* Both of the workspace, the second with file_mode and mode of `last` (NULL: no file); and of its metadata:
 * metadata_version metadata_inputs metadata_outputs records record (the last of them) metadata_output */
void tell_tree(struct workspace_rig *rig, const char *last);
