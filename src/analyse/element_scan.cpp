#include "analyse/element_scan.h"

#include <cstring>

#include "base/check.h"
#include "base/half.h"

namespace tilewright::analyse {

namespace {

/// Element types that need decoding.
struct Half {
  std::uint16_t bits;
  float value() const { return f16_to_float(bits); }
};
struct BFloat {
  std::uint16_t bits;
  float value() const { return bf16_to_float(bits); }
};
struct Truth {
  std::uint8_t byte;
  std::uint8_t value() const { return byte != 0 ? 1 : 0; }
};
template <class T>
struct Plain {
  T bits;
  T value() const { return bits; }
};

template <class Element>
auto read(const TensorView& view, std::int64_t offset) {
  Element element;
  std::memcpy(
      &element,
      static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(sizeof(Element)),
      sizeof element);
  return element.value();
}

template <class Visit>
auto with_element_type(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kF64:
      return visit(Plain<double>{});
    case DType::kF32:
      return visit(Plain<float>{});
    case DType::kF16:
      return visit(Half{});
    case DType::kBF16:
      return visit(BFloat{});
    case DType::kI8:
      return visit(Plain<std::int8_t>{});
    case DType::kI16:
      return visit(Plain<std::int16_t>{});
    case DType::kI32:
      return visit(Plain<std::int32_t>{});
    case DType::kI64:
      return visit(Plain<std::int64_t>{});
    case DType::kU8:
      return visit(Plain<std::uint8_t>{});
    case DType::kBool:
      return visit(Truth{});
  }
  TILEWRIGHT_CHECK(!"an unknown dtype");
  return visit(Truth{});
}

/// Least and greatest element. The unit-stride loop is apart so that it becomes vector code.
template <class Element>
auto bounds(const TensorView& view, const ElementRun& run) {
  using Value = decltype(Element{}.value());
  struct Bounds {
    Value low, high;
    bool nan = false;
  };
  Bounds found{std::numeric_limits<Value>::max(), std::numeric_limits<Value>::lowest()};
  if constexpr (std::is_floating_point_v<Value>) {
    found.low = std::numeric_limits<Value>::infinity();
    found.high = -found.low;
  }
  const auto take = [&](Value value) {
    found.low = value < found.low ? value : found.low;
    found.high = value > found.high ? value : found.high;
    found.nan |= value != value;
  };
  if (run.stride == 1) {
    for (std::int64_t i = 0; i < run.count; ++i) take(read<Element>(view, run.offset + i));
  } else {
    for (std::int64_t i = 0; i < run.count; ++i)
      take(read<Element>(view, run.offset + i * run.stride));
  }
  return found;
}

/// Which truth values occur among neighbouring bytes, eight at a time; stops where both do.
TruthRange truths(const std::uint8_t* bytes, std::int64_t count) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  TruthRange found{.can_be_false = false, .can_be_true = false};
  std::int64_t i = 0;
  for (; i + 8 <= count && !(found.can_be_false && found.can_be_true); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + i, sizeof word);
    // The usual test for a zero byte: only there does a borrow reach a top bit that was clear.
    found.can_be_false |= ((word - kOnes) & ~word & (kOnes << 7)) != 0;
    found.can_be_true |= word != 0;
  }
  for (; i < count && !(found.can_be_false && found.can_be_true); ++i) {
    found.can_be_false |= bytes[i] == 0;
    found.can_be_true |= bytes[i] != 0;
  }
  return found;
}

}  // namespace

ir::Type element_type(DType dtype) {
  if (is_floating(dtype)) return ir::Type::kFloat;
  return dtype == DType::kBool ? ir::Type::kBool : ir::Type::kInt;
}

Interval scan(const TensorView& view, const ElementRun& run) {
  if (view.dtype == DType::kBool && run.stride == 1)
    return truths(static_cast<const std::uint8_t*>(view.data) + run.offset, run.count);
  return with_element_type(view.dtype, [&]<class Element>(Element) -> Interval {
    const auto found = bounds<Element>(view, run);
    if constexpr (std::is_same_v<Element, Truth>)
      return TruthRange{found.low == 0, found.high != 0};
    else if constexpr (std::is_floating_point_v<decltype(found.low + 0)> &&
                       !std::is_integral_v<decltype(Element{}.value())>)
      return RealRange{static_cast<double>(found.low), static_cast<double>(found.high), found.nan};
    else
      return IntRange{static_cast<std::int64_t>(found.low), static_cast<std::int64_t>(found.high)};
  });
}

bool is_ascending(const TensorView& view, const ElementRun& run) {
  return with_element_type(view.dtype, [&]<class Element>(Element) {
    bool ascending = true;
    auto last = read<Element>(view, run.offset);
    ascending = last == last;
    for (std::int64_t i = 1; ascending && i < run.count; ++i) {
      const auto next = read<Element>(view, run.offset + i * run.stride);
      ascending = last <= next;
      last = next;
    }
    return ascending;
  });
}

}  // namespace tilewright::analyse
