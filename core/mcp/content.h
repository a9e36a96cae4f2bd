#pragma once
/* What a server answers to a call, as the reply of a tool. Everything of the server's stands below a key of ours, so
 * that nothing it says can be taken for a word of the executor's. */

struct json;
struct strbuf;
struct tool_reply;

/* `result` of tools/call: an output, or an error when it says isError or is no result at all. */
void mcp_content_reply(const struct json *result, struct tool_reply *reply);
/* The text of it, all of it, for whoever looks for something in it. */
void mcp_content_text(const struct json *result, struct strbuf *out);
