#pragma once
/* The attributes of a file besides its bytes and name: owner, group, permission bits, access list, extended
 * attributes. A write replaces the old file by a new one, which must take these over. Setuid, setgid, file
 * capabilities and signatures are never copied: they vouch for other bytes. */

#include <sys/types.h>

struct strbuf;

#define ATTRIBUTES_LIST "system.posix_acl_access"

/* Copies the attributes of `from` to the new file `to`, which is still 0600, and sets the permission bits `mode`.
 * Adds attributes that cannot be kept to `lost`, one per line; access is then narrower than before, never wider.
 * Returns -1 with errno if not even the permission bits can be read or set. */
int attributes_copy(int to, int from, mode_t mode, struct strbuf *lost);
/* Removes the access list that a new file inherited from its folder. -1 with errno. */
int attributes_drop_list(int to);
/* Attributes that a plain file of ours in `folder` with the same bytes and permission bits would lack, one per line.
 * NULL: none. The caller frees it. */
char *attributes_list(int folder, int fd);
/* Attributes that a new file in `folder` could not take over from `from`, one per line; tries it with a nameless
 * file. NULL: none. The caller frees it. Blocks. */
char *attributes_lost(int folder, int from);
