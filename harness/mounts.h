#pragma once
/* Everything but the workspace, read-only. A descriptor that was opened for reading can change the mode, the owner and
 * the times of its file, and neither Landlock nor the filter can tell whose it is; on a read-only mount nobody can. An
 * outer engine has done that already; without one we do it for ourselves, in a mount namespace of our own, where the
 * machine lets us. */

#include <stdbool.h>

/* Whether it is so, but for devices, after trying to make it so. To be called with one thread, before a descriptor is
 * opened that is to be written to; the working folder is the workspace afterwards. `tools` may be NULL. */
bool mounts_close(const char *workspace, const char *tools);
/* Whether a device is left that its opener could change for the whole machine: one of ours on a mount of its own, as
 * bubblewrap has them when root starts it. No script may open any then. */
bool mounts_devices_open(void);
