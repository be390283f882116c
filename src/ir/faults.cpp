#include "ir/interpret.h"

namespace tilewright::ir {

void raise_index_out_of_range(const CaptureSlot& capture, std::int64_t axis, std::int64_t index,
                              std::int64_t extent) {
  throw Error(
      {.code = ErrorCode::kIndexOutOfRange,
       .what = "a live subscript is outside captured tensor '" + capture.name + "'",
       .where = capture.name + ", axis " + std::to_string(axis),
       .expected = "an index in [" + std::to_string(-extent) + ", " + std::to_string(extent) + ")",
       .got = std::to_string(index),
       .hint = "guard the subscript with a condition, or make the tensor as long as the positions "
               "it is read at"});
}

void raise_division_by_zero(std::string_view fn) {
  throw Error({.code = ErrorCode::kDivisionByZero,
               .what = "a live integer division by zero",
               .where = std::string(fn),
               .expected = "a divisor other than 0",
               .got = "0",
               .hint = "guard the division with a condition on the divisor"});
}

void raise_unbound_capture(const CaptureSlot& capture) {
  throw Error(
      {.code = ErrorCode::kInvalidArgument,
       .what = "captured tensor '" + capture.name + "' is not bound to data",
       .where = capture.name,
       .expected = std::string(name(capture.dtype)) + ", rank " + std::to_string(capture.rank),
       .got = "no data",
       .hint = "a parsed program declares its tensors: bind each by name before a call"});
}

}  // namespace tilewright::ir
