#pragma once
/* A store of versioned artifacts without files. */

#include "workspace/versions.h"

/* Artifacts that live as long as this store. */
struct versions *versions_in_memory(void);
