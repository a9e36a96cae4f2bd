#pragma once
/* Models over HTTP, in one of the dialects of answer.h. An answer streams in. An error is one sentence that never
 * contains the key. The turn decides when to retry. */

#include "answer.h"

struct http;
struct loop;

/* Copies everything of the spec. The client must outlive the provider. Returns NULL if the spec is invalid. */
struct provider *live_new(struct loop *loop, struct http *http, const struct live_spec *spec, struct err *err) CHECKED;
/* Sets a key that was not known at creation. Returns 0, or -1 if it is not a valid key. */
int live_set_key(struct provider *provider, const char *key, struct err *err) CHECKED;
/* Returns what is wrong with an address, or NULL. The half sentence does not repeat the address, which may hold a
 * password. */
const char *live_bad_url(const char *url);
/* Allows a key over plain http only to this machine, unless the user allowed more. Returns 0, or -1 with what to do.
 * `name` is the user's name of the model. Call it before you get the key: it sends, looks up and runs nothing. */
int live_check_http(const struct live_spec *spec, const char *name, struct err *err) CHECKED;
/* Returns an option that the spec's options may not set, because Keyturn sets it; NULL if there is none. */
const char *live_bad_option(const struct json *options);
