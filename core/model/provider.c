#include "provider.h"
#include <stdlib.h>

void model_reply_release(struct model_reply *reply)
{
    free(reply->error);
    free(reply->text);
    free(reply->thinking);
    free(reply->opaque);
    free(reply->stop);
    tool_calls_free(reply->calls, reply->call_count);
    *reply = (struct model_reply){0};
}
