#pragma once
/* What stands at a gate, as it may be shown: without the values of secrets. The turn itself goes on with them. */

#include "engine.h"

struct shown;

struct shown *shown_new(void);
void shown_free(struct shown *shown);
/* Puts copies in the place of what holds a secret. Texts stay where they are until they change; messages until the next
 * call. */
void shown_veil(struct shown *shown, struct held_view *view);
