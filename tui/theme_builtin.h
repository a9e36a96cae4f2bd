#pragma once
/* The themes that are there without any file; a test keeps them equal to themes/. */

extern const char theme_builtin_default[], theme_builtin_mono[];
