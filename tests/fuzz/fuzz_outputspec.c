/* Fuzzes JSON that lists the outputs to collect: the effective limits are above zero and within the caps. The same
 * bytes are also read as the head of a SKILL.md, which must not crash. */

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "support/shortcuts.h"
#include "workspace/collect.h"
#include "workspace/globs.h"
#include "workspace/skills.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A normalized pattern has no blanks around it, and a clean one never begins with "..". */
static void check_pattern(const char *pattern)
{
    CLEANUP(free) char *normal = globs_normalize(pattern);
    if (!normal)
        return;
    CLEANUP(free) char *clean = globs_clean(normal);
    if (!*normal || (clean && (clean[0] == '/' || strcmp(clean, "..") == 0 || strncmp(clean, "../", 3) == 0)))
        BUG("%s became %s", pattern, clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(output_spec) struct output_spec spec;
    CLEANUP(free) char *name = NULL, *description = NULL;
    struct err err = ERR_INIT;
    if (output_spec_parse(&spec, (const char *)data, size, &err) == 0) {
        struct output_spec limits = output_spec_effective(&spec);
        if (limits.max_files <= 0 || limits.max_total_bytes <= 0 || limits.max_file_bytes <= 0 ||
            limits.max_file_bytes > OUTPUT_MAX_FILE_BYTES)
            BUG("limits that limit nothing");
        for (size_t i = 0; i < spec.glob_count; i++)
            check_pattern(spec.globs[i]);
    } else if (!err.text[0]) {
        BUG("refused without a reason");
    }
    skills_parse_head((const char *)data, size, &name, &description);
    if (!utf8_valid(name, strlen(name)) || !utf8_valid(description, strlen(description)))
        BUG("not fit to be shown");
    return 0;
}
