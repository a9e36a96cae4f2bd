#pragma once
/* What the fuzz targets of the dialects share. */

#include "model/answer.h"
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void stream_fuzz(const struct dialect *dialect, const char *bytes, size_t len);
