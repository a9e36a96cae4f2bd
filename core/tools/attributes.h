#pragma once
/* What a file has besides its bytes and its name: owner, group, permission bits, access list, extended attributes. A
 * write makes a new file in the place of the old one, so it has to take these over. Setuid, setgid, file capabilities
 * and signatures never come along: they vouch for other bytes. */

#include <sys/types.h>

struct strbuf;

#define ATTRIBUTES_LIST "system.posix_acl_access"

/* Gives the new file `to`, which is still 0600, what `from` has, and the permission bits `mode`. What cannot be kept is
 * added to `lost`, a line each; access is then narrower than before, never wider. -1 with errno when not even the
 * permission bits can be read or set. */
int attributes_copy(int to, int from, mode_t mode, struct strbuf *lost);
/* Takes away the access list that a new file got from its folder. -1 with errno. */
int attributes_drop_list(int to);
/* What a plain file of ours in `folder` with the same bytes and permission bits would lack, a line each. The caller's;
 * NULL: nothing. */
char *attributes_list(int folder, int fd);
/* What a new file in `folder` could not take over from `from`, a line each; tries it with a nameless file. The
 * caller's; NULL: nothing. Blocks. */
char *attributes_lost(int folder, int from);
