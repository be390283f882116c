#pragma once

#include <vector>

#include "backends/cpu/score_pass.h"
#include "ir/program.h"

namespace tilewright::cpu {

/// Captures and numbers in the form that score passes read.
class PassBindings {
 public:
  PassBindings(const ir::Program& program, const ir::Bindings& bindings) {
    strides_.reserve(bindings.captures.size());
    for (const TensorView& view : bindings.captures) {
      Dims strides = view.strides;
      for (std::size_t axis = 0; axis < view.rank(); ++axis)
        if (view.shape[axis] == 1) strides[axis] = 0;
      strides_.push_back(strides);
      captures_.push_back(
          {.data = view.data, .extents = view.shape.data(), .strides = strides_.back().data()});
    }
    for (std::size_t slot = 0; slot < bindings.numbers.size(); ++slot) {
      PassNumber number{};
      if (program.numbers()[slot].type == ir::Type::kFloat)
        number.real = bindings.numbers[slot].real;
      else
        number.integer = bindings.numbers[slot].integer;
      numbers_.push_back(number);
    }
  }

  PassCall call(double scale) const {
    return {.captures = captures_.data(), .numbers = numbers_.data(), .scale = scale};
  }

 private:
  std::vector<Dims> strides_;
  std::vector<PassCapture> captures_;
  std::vector<PassNumber> numbers_;
};

/// Throws the run-time error of semantics R8 or R9 for a live fault of a node of `program`.
[[noreturn]] void raise_fault(const PassFault& fault, const ir::Program& program,
                              const ir::Bindings& bindings);

}  // namespace tilewright::cpu
