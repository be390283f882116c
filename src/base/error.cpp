#include "tilewright/error.h"

#include <utility>

#include "base/check.h"

namespace tilewright {

namespace {

void append(std::string& message, const char* label, const std::string& text) {
  if (text.empty()) return;
  message += "\n  ";
  message += label;
  message += ": ";
  message += text;
}

std::string compose(const ErrorParts& parts) {
  std::string message = parts.what;
  append(message, "where", parts.where);
  append(message, "expected", parts.expected);
  append(message, "got", parts.got);
  append(message, "hint", parts.hint);
  return message;
}

}  // namespace

Error::Error(ErrorParts parts) : parts_(std::move(parts)), message_(compose(parts_)) {}

const char* name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIndexOutOfRange:
      return "index_out_of_range";
    case ErrorCode::kDivisionByZero:
      return "division_by_zero";
    case ErrorCode::kParse:
      return "parse";
    case ErrorCode::kTrace:
      return "trace";
    case ErrorCode::kCompileForbidden:
      return "compile_forbidden";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

void raise_broken_invariant(const char* condition, const char* file, int line) {
  throw Error(
      {.code = ErrorCode::kInternal,
       .what = std::string("broken invariant: ") + condition,
       .where = std::string(file) + ":" + std::to_string(line),
       .expected = {},
       .got = {},
       .hint = "this is a bug in Tilewright; please report it with the program and the shapes"});
}

}  // namespace tilewright
