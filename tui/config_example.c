#include "config_example.h"
#include "base/utf8.h"

const char *const config_model_lines[] = {
    "{",
    "  \"model\": \"claude\",          // which of these is asked",
    "  \"models\": {",
    "    \"claude\": {\"provider\": \"anthropic\", \"model\": \"claude-sonnet-4-5\"},",
    "    \"gpt\": {\"provider\": \"openai\", \"model\": \"gpt-4.1\"},",
    "    \"router\": {\"provider\": \"openai\", \"model\": \"openai/gpt-4.1\",",
    "      \"base_url\": \"https://openrouter.ai/api/v1\",",
    "      \"key_env\": \"OPENROUTER_API_KEY\"},",
    "    \"local\": {\"provider\": \"openai\", \"model\": \"qwen3\",  // Ollama",
    "      \"base_url\": \"http://localhost:11434/v1\"} // llama.cpp: port 8080",
    "  }",
    "}",
    NULL,
};

const char config_key_note[] = "Keys stay out of it: ANTHROPIC_API_KEY, OPENAI_API_KEY, what \"key_env\" names or "
                               "\"key_command\" prints. A server of "
                               "your own needs none.";

void config_example_write(struct strbuf *out)
{
    strbuf_addstr(out,
                  "// The settings of keyturn. Everything is optional; keyturn help config lists all there is.\n"
                  "// To name a model take the // away from the beginning of its lines, and from those around it.\n"
                  "//\n");
    strbuf_addf(out, "// %s\n", config_key_note);
    for (size_t i = 0; config_model_lines[i]; i++) /* the braces count: without them it is no file */
        strbuf_addf(out, "%s%s\n", config_model_lines[i][0] == ' ' ? "  //" : "", config_model_lines[i]);
}

/* Broken where words end, for a terminal of the usual width. */
static void add_folded(struct strbuf *out, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t word = strcspn(text, " ");
        size_t columns = utf8_columns(text, word);
        if (column && column + 1 + columns > 78) {
            strbuf_addch(out, '\n');
            column = 0;
        } else if (column) {
            strbuf_addch(out, ' ');
            column++;
        }
        strbuf_add(out, text, word);
        column += columns;
        text += word + strspn(text + word, " ");
    }
    strbuf_addch(out, '\n');
}

void config_page_write(struct strbuf *out, const char *path, bool there)
{
    strbuf_addf(out, "To set one up, put this into the config file%s, with the models that are yours:\n%s\n\n",
                there ? "" : ", which is not there yet", path);
    for (size_t i = 0; config_model_lines[i]; i++)
        strbuf_addf(out, "    %s\n", config_model_lines[i]);
    strbuf_addch(out, '\n');
    add_folded(out, config_key_note);
    add_folded(out, "Another one for once: keyturn run --model NAME; in a session: :model NAME.");
    add_folded(out, "All settings: keyturn help config. Without a model: keyturn demo plays a turn with real tools.");
}
