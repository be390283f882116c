#pragma once

/// Marks what libtilewright exports. Everything else is compiled hidden.
#define TILEWRIGHT_API __attribute__((visibility("default")))
