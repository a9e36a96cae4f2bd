/* The program: reads the command line and hands over to the command. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "cmd.h"
#include "output.h"
#include "say.h"
#include "shell_limits.h"
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

static int (*const run[])(const struct options *options) = {
#define COMMAND(ID, name, operands, least, most, help, more) [COMMAND_##ID] = cmd_##name,
#include "commands.def"
#undef COMMAND
    [COMMAND_NONE] = cmd_start,
};

static const char config_help[] =
    "The config file is $XDG_CONFIG_HOME/keyturn/config.json (usually ~/.config/keyturn/config.json).\n"
    "It is JSON and may hold // comments. Everything in it is optional; the command line wins.\n\n"
    "  {\n"
    "    \"model\": \"mine\",                         // the model that is used when --model names none\n"
    "    \"models\": {\n"
    "      \"mine\": {\"provider\": \"anthropic\", \"model\": \"...\",  // its key is in ANTHROPIC_API_KEY\n"
    "               \"prices\": {\"input\": 3, \"output\": 15, \"cache_read\": 0.3, \"cache_write\": 3.75}},\n"
    "                                             // US dollars per million tokens; without them no cost is shown\n"
    "      \"other\": {\"provider\": \"openai\",        // and whatever speaks Chat Completions\n"
    "                \"base_url\": \"http://localhost:8080/v1\", \"model\": \"...\",\n"
    "                \"key_env\": \"MY_KEY\",         // or \"key_command\": \"pass show my/key\"; the key is never "
    "here\n"
    "                \"allow_http\": false,         // true: the key may go over http to another machine\n"
    "                \"options\": {\"temperature\": 0}, // into every request as they are; null leaves a field out\n"
    "                                             // max_tokens: 8192 (anthropic) unless it is here\n"
    "                \"idle_s\": 120,               // the longest silence of the server\n"
    "                \"answer_mb\": 64,             // the longest answer, as it comes over the network\n"
    "                \"keep_reasoning\": false},    // true: the model wants its reasoning back with its calls\n"
    "      \"played\": {\"provider\": \"scripted\", \"file\": \"answers.jsonl\"}\n"
    "    },\n"
    "    \"budget\": {\"wall_s\": 60, \"steps\": 6},    // the keys of --budget\n"
    "    \"approve\": \"ask\",                        // ask, deny or allow\n"
    "    \"web\": {\"mode\": \"auto\", \"endpoint\": \"https://...\"},\n"
    "    \"thinking\": {\"level\": \"off\", \"reflect_on_tool_error\": true, \"reflect_every\": 0},\n"
    "    \"parallel\": true, \"select_tools\": false, \"citations\": true,\n"
    "    \"theme\": \"default\",\n"
    "    \"system_prompt\": \"...\",                // instead of the usual one; --system FILE for one run\n"
    "    \"project_instructions\": true,          // tell the model what AGENTS.md of the workspace says\n"
    "    \"compact\": true,                       // leave out what is old when budget.context_tokens nears\n"
    "    \"secrets\": [\"DB_PASSWORD\"],           // variables whose values are never recorded or shown\n"
    "    \"question_grace_ms\": 300,                // how long a question that has just come takes no answer\n"
    "    \"keys\": {\"step\": \"s F5\"},                // keyturn keys lists the actions\n"
    "    \"breakpoints\": [\"tool=write_file\"],\n"
    "    \"mcpServers\": {\"fs\": {                 // tool servers on stdio, as other programs name them\n"
    "      \"command\": \"npx\", \"args\": [\"...\"], \"env\": {\"KEY\": \"${MY_KEY}\"}, \"cwd\": \"...\",\n"
    "                                             // ${NAME} of your environment, or ${NAME:-default}\n"
    "      \"trust\": false,                        // true: what it says about its tools is believed\n"
    "      \"effects\": {\"read_file\": \"READ_ONLY\"}, // what you say about them; \"*\" for all\n"
    "      \"timeout_s\": 60, \"disabled\": false}},\n"
    "    \"mcp_wait_s\": 10,                       // how long a session waits for them\n"
    "    \"workspace\": {                          // where programs run; what is not said has no limit of yours\n"
    "      \"engine\": \"bwrap\", \"persist\": false,\n"
    "      \"network\": [\"example.org:443\"],      // hosts they may reach; true: every public one; false: none\n"
    "      \"max_disk_mb\": 500, \"pids\": 128,\n"
    "      \"memory_mb\": 2048, \"cpu_percent\": 100, // of all processes of a program; keyturn doctor says\n"
    "                                             // what holds that on this machine\n"
    "      \"timeout_s\": 300, \"programs\": 8,      // how long each may run; how many at a time\n"
    "      \"inputs\": [\"~/data\"],                // folders to copy from, besides the project\n"
    "      \"allow\": [\"make\"], \"deny\": [\"git\"], // commands\n"
    "      \"env\": {\"TOKEN\": \"${MY_TOKEN}\"}}, // variables for programs; ${...} is one of yours\n"
    "    \"skills\": [\"~/skills\"]                 // more folders of skills\n"
    "  }\n";

static int print(const struct strbuf *text)
{
    struct output output;
    output_init(&output, STDOUT_FILENO);
    strbuf_add(&output.text, text->buf, text->len);
    int status = output_flush(&output) ? output_say_failed(&output) : STATUS_DONE;
    output_release(&output);
    return status;
}

int cmd_help(const struct options *options)
{
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    if (!options->operand) {
        options_help(&text);
        return print(&text);
    }
    if (strcmp(options->operand, "config") == 0) {
        strbuf_addstr(&text, config_help);
        return print(&text);
    }
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(options->operand, command_name((enum command)i)) == 0) {
            options_command_help(&text, (enum command)i);
            return print(&text);
        }
    return say_error(STATUS_USAGE, "there is no help on %s (keyturn --help lists the commands)", options->operand);
}

/* A program that was started without them must not open a journal as its standard output. */
static void fill_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
        output_closed |= fd == STDOUT_FILENO;
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    struct options options;
    struct err err = ERR_INIT;
    CLEANUP(strbuf) struct strbuf text = STRBUF_INIT;
    int status;
    fill_standard_files();
    /* Texts come and go with every event: memory that was just given back should not have to be mapped and zeroed
     * again. */
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    if (options_parse(&options, argc, argv, &err)) {
        status = say_error(STATUS_USAGE, "%s", err.text);
    } else if (options.version) {
        strbuf_addstr(&text, "keyturn " KEYTURN_VERSION "\n");
        status = print(&text);
    } else if (options.help) {
        if (options.command == COMMAND_NONE)
            options_help(&text);
        else
            options_command_help(&text, options.command);
        status = print(&text);
    } else if (limits_prepare(&err)) {
        status = say_error(STATUS_FAILED, "%s", err.text);
    } else {
        status = run[options.command](&options);
    }
    options_release(&options);
    return status;
}
