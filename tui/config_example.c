#include "config_example.h"

const char *const config_model_lines[] = {
    "\"model\": \"mine\",",
    "\"models\": {\"mine\": {\"provider\": \"scripted\", \"file\": \"answers.jsonl\"}}",
    NULL,
};

void config_example_write(struct strbuf *out)
{
    strbuf_addstr(
        out, "// The settings of keyturn. Everything is optional; keyturn help config lists all there is.\n"
             "// To name a model take the // away from the lines that begin with it; \"file\" is a recording whose\n"
             "// answers are the model's, its path is meant from the folder of this file.\n"
             "{\n");
    for (size_t i = 0; config_model_lines[i]; i++)
        strbuf_addf(out, "  // %s\n", config_model_lines[i]);
    strbuf_addstr(out, "}\n");
}
