#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/forward.h"
#include "tilewright/author.h"
#include "tilewright/catalogue.h"
#include "tilewright/program.h"

namespace tilewright::cases {

/// What an entry of the table is built for, and the home of the tensors that it captures.
class EntryContext {
 public:
  EntryContext(const Extents& extents, std::uint64_t seed) : extents(extents), random(seed) {}

  /// A captured tensor with a value for every index.
  Capture capture(const std::string& name, DType dtype, const Dims& shape,
                  const std::function<double(const Dims&)>& value);
  Capture normal(const std::string& name, DType dtype, const Dims& shape);

  std::int64_t longest() const { return std::max(extents.q_len, extents.kv_len); }
  /// kv_len - q_len: what aligns the last query with the last key.
  std::int64_t bottom_right() const { return extents.kv_len - extents.q_len; }

  /// Keeps tables of the catalogue.
  void keep(std::vector<Table> tables);

  Extents extents;
  Random random;

 private:
  std::vector<Table> tables_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
};

/// A program of the table by name. Every subscript of every entry is in range for any extents.
struct Entry {
  std::string name;
  std::function<Program(EntryContext&)> make;
};

/// Structures that the catalogue does not have.
std::vector<Entry> mask_entries();
std::vector<Entry> score_entries();
/// Every entry of the catalogue with its initial parameters.
std::vector<Entry> catalogue_entries();
/// All of them, in one fixed order.
const std::vector<Entry>& entries();

}  // namespace tilewright::cases
