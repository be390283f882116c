#include "io/bad_file.h"

#include <utility>

#include "tilewright/error.h"

namespace tilewright::io {

void raise_bad_file(const std::string& path, BadFile fault) {
  throw Error({.code = ErrorCode::kParse,
               .what = std::move(fault.what),
               .where = path,
               .expected = std::move(fault.expected),
               .got = std::move(fault.got),
               .hint = std::move(fault.hint)});
}

}  // namespace tilewright::io
