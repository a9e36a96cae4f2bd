#pragma once
/* What a person can do about a model that did not answer: half a sentence that stands in brackets behind the error.
 * Only where there is something to be done: who is out of breath is asked again without a word of advice. */

#include "http.h"
#include <stdbool.h>

/* The server answered with this status. `keyed`: a key was sent with the request. NULL: nothing to advise. */
const char *advice_of_status(long status, bool keyed);
/* No answer came. NULL likewise. */
const char *advice_of_trouble(enum http_trouble trouble);
