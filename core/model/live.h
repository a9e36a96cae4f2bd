#pragma once
/* Models that are asked over HTTP, in one of the dialects of dialect.h. An answer streams in; what goes wrong is one
 * sentence, in which the key never stands. When to ask again is the turn's business. */

#include "dialect.h"

struct http;
struct loop;

/* Everything of the spec is copied; the client must outlive the provider. NULL when the spec makes no sense. */
struct provider *live_new(struct loop *loop, struct http *http, const struct live_spec *spec, struct err *err) CHECKED;
/* The key that was not known when it was made. 0, or -1 when it is none. */
int live_set_key(struct provider *provider, const char *key, struct err *err) CHECKED;
/* What is wrong with an address, as half a sentence that does not repeat it, since it may hold a password; NULL:
 * nothing. */
const char *live_bad_url(const char *url);
/* A key goes over plain http to this machine only, unless the user allowed more: 0, or -1 and what to do. `name` is the
 * user's name of the model. For whoever gets the key: nothing needs to be sent, looked up or run before. */
int live_check_http(const struct live_spec *spec, const char *name, struct err *err) CHECKED;
/* An option that may not be in a spec's options, because it is ours to say; NULL when there is none. */
const char *live_bad_option(const struct json *options);
