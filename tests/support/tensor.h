#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "support/random.h"
#include "tilewright/tensor.h"

namespace tilewright::cases {

/// How a tensor of rank >= 2 lies in its buffer.
enum class Layout : std::uint8_t {
  kContiguous,
  kTransposed,     ///< axes 1 and 2 swapped in memory: [B, S, H, D] seen as [B, H, S, D]
  kExpanded,       ///< strides 0 on the leading axes; inputs only
  kSliced,         ///< a window of a larger buffer, with an offset on every axis
  kInnerStrided,   ///< innermost stride 3
  kInnerNegative,  ///< innermost stride -1
  kNegative,       ///< axes before the innermost run backwards
};

inline constexpr Layout kLayouts[] = {
    Layout::kContiguous,   Layout::kTransposed,    Layout::kExpanded, Layout::kSliced,
    Layout::kInnerStrided, Layout::kInnerNegative, Layout::kNegative};

std::string_view name(Layout layout);

/// Where the buffer ends.
enum class Placement : std::uint8_t {
  kHeap,
  kGuardAfter,   ///< the last byte is followed by a page that faults
  kGuardBefore,  ///< the first byte follows a page that faults
};

struct TensorSpec {
  DType dtype = DType::kF32;
  Dims shape;
  Layout layout = Layout::kContiguous;
  Placement placement = Placement::kHeap;
};

/// A tensor that owns its buffer. Every byte starts as 0xff, which is NaN in every floating type:
/// what is not written spoils what reads it, and bytes between elements tell whether anybody wrote
/// there.
class Tensor {
 public:
  explicit Tensor(const TensorSpec& spec);
  Tensor(DType dtype, const Dims& shape) : Tensor(TensorSpec{.dtype = dtype, .shape = shape}) {}

  const TensorView& view() const { return view_; }
  operator const TensorView&() const { return view_; }  // NOLINT: an argument everywhere
  const Dims& shape() const { return view_.shape; }
  std::int64_t size() const { return element_count(view_.shape); }

  double at(const Dims& index) const { return value_at(view_, index); }
  /// Rounds to nearest even; integers truncate.
  void set(const Dims& index, double value);
  /// Writes every element.
  Tensor& fill(const std::function<double(const Dims&)>& value);
  Tensor& fill(double value);
  Tensor& fill_normal(Random& random, double deviation = 1);
  /// Integers in [low, high], in any dtype.
  Tensor& fill_between(Random& random, std::int64_t low, std::int64_t high);

  /// Every byte of the buffer, padding included; what a copy on a device starts from and ends in.
  std::span<std::byte> bytes() const { return {buffer_.get(), buffer_bytes_}; }
  /// True if no byte outside the elements was written.
  bool padding_intact() const;

  static double value_at(const TensorView& view, const Dims& index);

 private:
  std::shared_ptr<std::byte> buffer_;
  std::size_t buffer_bytes_ = 0;
  TensorView view_;
};

/// Calls `visit` for every index of a shape, row-major.
void for_each_index(const Dims& shape, const std::function<void(const Dims&)>& visit);

/// Element offset of an index, strides of axes of extent 1 ignored.
std::int64_t offset_of(const TensorView& view, const Dims& index);

/// A view of rows [begin, end) of one axis.
TensorView slice(const TensorView& view, std::size_t axis, std::int64_t begin, std::int64_t end);

/// The same memory with an axis of extent 1 repeated `extent` times (stride 0).
TensorView expand(const TensorView& view, std::size_t axis, std::int64_t extent);

/// A contiguous copy in another dtype.
Tensor copy_as(const TensorView& view, DType dtype);
inline Tensor copy_of(const TensorView& view) { return copy_as(view, view.dtype); }

}  // namespace tilewright::cases
