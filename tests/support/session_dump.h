#pragma once
/* A session as text. */

#include "event/session.h"

/* Writes the whole session as readable lines, for goldens and for comparing two folds. */
void session_dump(struct strbuf *out, const struct session *session);
