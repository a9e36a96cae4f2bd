#pragma once
/* Makes everything but the workspace read-only. A descriptor opened for reading can still change the mode, owner and
 * times of its file. Neither Landlock nor the filter can tell whose file it is; a read-only mount refuses all such
 * changes. An outer engine has done that already. Without one, the zygote does it in its own mount namespace, if the
 * machine allows that. */

#include <stdbool.h>

/* Tries to make the mounts read-only and returns whether they are, except for devices. Call it with one thread, before
 * opening a descriptor for writing. Afterwards the working folder is the workspace. `tools` may be NULL. */
bool mounts_make_readonly(const char *workspace, const char *tools);
/* Returns true if a process that opens a device could change it for the whole machine: the device is ours and has its
 * own mount. bubblewrap mounts devices that way if root starts it. Then no script may open any device. */
bool mounts_devices_open(void);
