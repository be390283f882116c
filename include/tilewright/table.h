#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tilewright/author.h"
#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

/// A contiguous tensor on the CPU that owns its memory; copies share it. Programs capture views, so
/// a table must outlive the calls that read it.
class Table {
 public:
  /// Zeros. Throws Error for a negative extent.
  Table(DType dtype, const Dims& shape);

  /// A rank-1 table of these values.
  static Table of(std::span<const std::int32_t> values);

  const TensorView& view() const noexcept { return view_; }
  Capture capture(std::string name) const { return {std::move(name), view_}; }

  /// Writes one element by its row-major offset, rounding or wrapping to the dtype.
  void set(std::int64_t offset, double value);
  void set(std::int64_t offset, std::int64_t value);

 private:
  std::shared_ptr<std::byte[]> memory_;
  TensorView view_;
};

/// Where packed documents lie, as tables that masks capture.
struct DocumentTables {
  Table ids;     ///< i32 [positions]: the document of a position, ascending
  Table starts;  ///< i32 [documents]: the first position of a document
  Table ends;    ///< i32 [documents]: one past its last position

  /// From cumulative lengths 0 = c[0] <= c[1] <= ... (documents + 1 of them). Throws Error for
  /// lengths that descend or do not start at 0. Empty documents are kept.
  static DocumentTables from_cu_seqlens(std::span<const std::int64_t> cu_seqlens);
};

}  // namespace tilewright

#pragma GCC visibility pop
