#pragma once
/* Terminals that this machine has no description of. */

/* Another name to try for a terminal whose own is not known here; NULL: none. Asked with `tried` from 0 on. */
const char *termname_alike(const char *name, unsigned tried);
