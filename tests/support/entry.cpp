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

void EntryContext::keep(std::vector<Table> tables) {
  for (Table& table : tables) tables_.push_back(std::move(table));
}

std::vector<Entry> catalogue_entries() {
  std::vector<Entry> made;
  for (const CatalogueEntry& entry : catalogue())
    made.push_back({entry.name, [&entry](EntryContext& context) {
                      CatalogueMod mod = entry.make(problem_of(context.extents));
                      Program program = mod.trace();
                      context.keep(std::move(mod.tables));
                      return program;
                    }});
  return made;
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> joined = catalogue_entries();
    for (const auto& more : {mask_entries(), score_entries()})
      joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return all;
}

}  // namespace tilewright::cases
