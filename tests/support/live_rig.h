#pragma once
/* A live model and a local server that answers it. One at a time: `rig`. */

#include "base/loop.h"
#include "base/strbuf.h"
#include "model/http.h"
#include "model/live.h"
#include "model_server.h"
#include "streams.h"

#define LIVE_KEY "sk-test-0123456789" /* declared as the secret MY_KEY */

struct live_rig {
    struct model_server *server;
    struct loop *loop;
    struct http *http;
    struct provider *provider;
    struct message_list messages;
    struct model_listener listener;
    int dones;
    char *said; /* stream_describe() of the reply */
    struct model_reply reply;
    struct strbuf heard; /* deltas */
    bool cancels;        /* at the first delta */
};
extern struct live_rig *rig;

/* For cmocka. */
int live_rig_set_up(void **state);
int live_rig_tear_down(void **state);
/* Uses this model from now on; fields left out of the spec get the usual values of tests. */
void live_rig_use(const struct live_spec *spec);
/* Sends a request; the listener is not called before the loop runs. */
void live_rig_start(void);
/* Sends a request, waits for its reply and describes it. */
const char *live_rig_ask(void);
/* Returns a stream by its name. */
const struct stream *live_rig_stream(const char *name);
