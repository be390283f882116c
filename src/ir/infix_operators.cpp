#include "ir/infix_operators.h"

#include <algorithm>
#include <array>

namespace tilewright::ir {

namespace {

constexpr std::array<InfixOperator, 15> kInfixOperators{{{"add", "+", kSum},
                                                         {"sub", "-", kSum},
                                                         {"mul", "*", kProduct},
                                                         {"true_div", "/", kProduct},
                                                         {"floor_div", "//", kProduct},
                                                         {"floor_mod", "%", kProduct},
                                                         {"bit_or", "|", kOr},
                                                         {"bit_xor", "^", kXor},
                                                         {"bit_and", "&", kAnd},
                                                         {"shl", "<<", kShift},
                                                         {"shr", ">>", kShift},
                                                         {"lt", "<", kComparing},
                                                         {"le", "<=", kComparing},
                                                         {"eq", "==", kComparing},
                                                         {"ne", "!=", kComparing}}};

}  // namespace

const InfixOperator* infix_operator(std::string_view fn) {
  const auto* const found =
      std::find_if(kInfixOperators.begin(), kInfixOperators.end(),
                   [fn](const InfixOperator& candidate) { return candidate.fn == fn; });
  return found == kInfixOperators.end() ? nullptr : found;
}

}  // namespace tilewright::ir
