#include "support/entry.h"

namespace tilewright::cases {

Capture EntryContext::capture(const std::string& name, DType dtype, const Dims& shape,
                              const std::function<double(const Dims&)>& value) {
  tensors_.push_back(std::make_unique<Tensor>(dtype, shape));
  tensors_.back()->fill(value);
  return {name, tensors_.back()->view()};
}

Capture EntryContext::normal(const std::string& name, DType dtype, const Dims& shape) {
  return capture(name, dtype, shape, [this](const Dims&) { return random.normal(); });
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> joined(mask_entries().begin(), mask_entries().end());
    joined.insert(joined.end(), score_entries().begin(), score_entries().end());
    return joined;
  }();
  return all;
}

}  // namespace tilewright::cases
