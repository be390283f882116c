#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ir/program.h"
#include "tilewright/problem.h"

namespace tilewright::cuda {

/// A min/max pyramid over the rows of one captured integer, truth or float table, which the
/// runtime builds in workspace before the kernel, on the same stream, at every call, so that a
/// replayed graph re-reads the table.
///
/// Lines run along `axis`; each combination of the other subscripts is a line, numbered row-major
/// over the remaining axes. Level k holds, per line, one cell for each 32 << k neighbours, k = 0 ..
/// levels-1, the last level having a single cell; cells of a level lie line after line and levels
/// one after another (PyramidShape). A cell is two elements, {min, max}: i64 for integer and truth
/// tables, float for floating ones (NaN makes the cell {-inf, +inf}).
struct PyramidRequest {
  std::uint32_t capture = 0;
  std::uint32_t axis = 0;
  bool operator==(const PyramidRequest&) const = default;
};

/// Where a pyramid's cells lie. The kernel reads the same numbers from its parameter block.
struct PyramidShape {
  std::int64_t lines = 0;
  std::int64_t extent = 0;  ///< of the axis
  int levels = 0;
  std::int64_t cells = 0;  ///< of all levels and lines
  static constexpr std::int64_t kCellBytes = 16;

  /// Cells of one line at a level: ceil(extent / (32 << level)).
  static std::int64_t line_cells(std::int64_t extent, int level) noexcept;
};
PyramidShape pyramid_shape(const TensorView& capture, std::uint32_t axis) noexcept;

/// ErrorRecord::code of attention/forward_params.cuh. A kernel writes a record by one 16-byte store
/// followed by a system-wide fence; the record lies in memory that the host reads too.
enum class FaultCode : std::int32_t { kNone = 0, kIndexOutOfRange = 1, kDivisionByZero = 2 };

/// Where everything lies in the kernel's last parameter, the emitted `Bindings`: a struct of 8-byte
/// aligned fields in this order.
///
///   offset 0   ErrorRecord* error            null unless the variant reports faults
///          8   i64 q_base, kv_base           logical position of query row 0 and key 0
///         24   i64 batch, heads, q_len, kv_len   extents of the call
///         56   captures, in slot order, each:  const T* data; i64 extent[rank]; i64 stride[rank];
///          .   numbers, in slot order, each 16 bytes:
///                integer: i64 wide; i32 narrow (low bits); i32 unused
///                real:    double wide; float narrow (nearest); i32 unused
///          .   pyramids, in the order of the requests, each 24 bytes:
///                const void* cells; i64 lines; i64 extent
///
/// Strides count elements; axes of extent 1 have stride 0. A capture without elements has a null
/// pointer and extents that say so. The struct is never larger than kMaxBytes.
class BlockLayout {
 public:
  BlockLayout(const ir::Program& program, std::span<const PyramidRequest> pyramids);

  std::size_t capture_offset(std::size_t slot) const { return captures_[slot]; }
  std::size_t number_offset(std::size_t slot) const { return numbers_[slot]; }
  std::size_t pyramid_offset(std::size_t index) const { return pyramids_[index]; }
  std::size_t bytes() const noexcept { return bytes_; }

  static constexpr std::size_t kErrorAt = 0;
  static constexpr std::size_t kBasesAt = 8;
  static constexpr std::size_t kExtentsAt = 24;
  static constexpr std::size_t kCapturesAt = 56;
  /// Parameters of a kernel end at 32,764 bytes (sm_70 and later, CUDA 12.1 and later), of which
  /// the family's own struct takes less than 764.
  static constexpr std::size_t kMaxBytes = 32000;

 private:
  std::vector<std::size_t> captures_, numbers_, pyramids_;
  std::size_t bytes_ = 0;
};

/// A pyramid of one call.
struct PyramidBinding {
  void* cells = nullptr;  ///< device address
  PyramidShape shape;
};

/// What pack() fills a block from.
struct BlockContents {
  const ir::Program& program;
  const ir::Bindings& bindings;
  const Problem& problem;
  void* error = nullptr;
  std::span<const PyramidBinding> pyramids = {};  ///< in the order of the requests
};

/// Writes the block into `block`, layout.bytes() long. Never reads captured data.
void pack(const BlockLayout& layout, const BlockContents& contents, std::span<std::byte> block);

}  // namespace tilewright::cuda
