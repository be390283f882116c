#include "io/system_error.h"

#include <cerrno>
#include <system_error>

#include "tilewright/error.h"

namespace tilewright::io {

void raise_system_error(std::string_view action, const std::string& path) {
  const std::string reason = std::generic_category().message(errno);
  throw Error({.code = ErrorCode::kIo,
               .what = "cannot " + std::string(action) + ": " + reason,
               .where = path,
               .expected = {},
               .got = {},
               .hint = {}});
}

}  // namespace tilewright::io
