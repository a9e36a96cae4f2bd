#pragma once
/* Creates and repairs what every workspace contains: four folders (layout_rows in sandbox/environment.h) and
 * metadata.json. */

#include "base/err.h"
#include "sandbox/environment.h"
#include <stddef.h>

struct beneath;
struct clock;
struct strbuf;

#define LAYOUT_METADATA "metadata.json"
#define LAYOUT_INPUTS   "work/inputs" /* for inputs without a target */
#define LAYOUT_DIR_MODE 0755

/* Creates what is missing below the root, with the metadata, and reopens folders that a program closed. Never changes
 * existing metadata. An entry other than a folder in the place of one is an error. */
int layout_ensure_beneath(const struct beneath *root, struct clock *clock, struct err *err) CHECKED;
/* Removes links in the places of the folders that lead out of the workspace or nowhere. A program put them there,
 * and they would block every later program. */
void layout_remove_links(const struct beneath *root);
/* Renames entries that block the place of a folder, the metadata or code (codeblock.h) to NAME.1 and so on. Adds a
 * sentence about each renamed entry to `report`. */
void layout_clear(const struct beneath *root, struct strbuf *report);
