/* Fuzzes answer streams of the Anthropic dialect: one reply, the same in any pieces, with no content that the stream
 * lacks, and its message can be sent back. */

#include "support/stream_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    stream_fuzz(&dialect_anthropic, (const char *)data, size);
    return 0;
}
