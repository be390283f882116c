#include "ir/scope.h"

#include <algorithm>
#include <array>

namespace tilewright::ir {

namespace {

constexpr std::array<std::string_view, 20> kReserved{
    "if",   "else", "and",   "or",    "not", "when", "capture", "number", "tilewright", "as",
    "true", "True", "false", "False", "inf", "nan",  "b",       "h",      "q",          "kv"};

}  // namespace

bool is_reserved(std::string_view name) {
  return std::ranges::find(kReserved, name) != kReserved.end();
}

}  // namespace tilewright::ir
