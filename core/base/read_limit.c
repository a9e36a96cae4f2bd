/* Limits how much is read at once from a stream that never stops. */

#include "read_limit.h"

#define PORTION_BYTES ((uint64_t)384 << 10)
#define PORTION_READS 64

bool read_limit_take(struct read_limit *read_limit, size_t got)
{
    read_limit->all += got;
    if (!read_limit->after || read_limit->all < read_limit->after)
        return false;
    read_limit->since += got;
    return ++read_limit->reads >= PORTION_READS || read_limit->since >= PORTION_BYTES;
}

void read_limit_resume(struct read_limit *read_limit)
{
    read_limit->since = 0;
    read_limit->reads = 0;
}
