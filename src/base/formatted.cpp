// Compiled with FMT_HEADER_ONLY, so that a program that links libtilewright needs no libfmt.
#include "base/formatted.h"

#include <fmt/format.h>

namespace tilewright {

std::string formatted_text(fmt::string_view pattern, fmt::format_args arguments) {
  return fmt::vformat(pattern, arguments);
}

}  // namespace tilewright
