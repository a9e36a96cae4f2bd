#pragma once
/* How long to wait before a model that could not answer is asked once more. */

#include "provider.h"

/* As long as the server wishes. Without a wish the wait doubles with each attempt (from 1), to a limit, and is longer
 * by chance by at most this share of it: many who were refused at the same moment shall not come back at the same
 * moment. */
int64_t retry_delay_ms(const struct model_reply *reply, int attempt, double jitter);
