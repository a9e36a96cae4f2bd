#pragma once
/* A server of the modern kind may answer a call with questions of its own (resultType "input_required"): forms that a
 * person would fill in, or a model. There is nobody here to do that, so it is told no, and what it wanted to know is
 * said in full to whoever reads the outcome. */

#include <stdbool.h>

struct json;
struct strbuf;

bool mcp_input_wanted(const struct json *result);
/* What it wants to know, for people and models. */
void mcp_input_write(struct strbuf *out, const struct json *result);
/* What a repetition of the request carries besides, to say no to all of it: JSON members, a comma before each. False
 * when the protocol has no way to say so. */
bool mcp_input_decline(struct strbuf *out, const struct json *result);
