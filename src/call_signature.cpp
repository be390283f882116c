#include "call_signature.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright {

namespace {

/// Copies larger than this cost more memory than finding spans anew costs time.
constexpr std::size_t kMaxTableBytes = std::size_t{1} << 20;

bool is_contiguous(const TensorView& view) {
  std::int64_t stride = 1;
  for (std::size_t axis = view.rank(); axis-- > 0;) {
    if (view.shape[axis] != 1 && view.strides[axis] != stride) return false;
    stride *= view.shape[axis];
  }
  return true;
}

std::size_t bytes_of(const TensorView& view) {
  return static_cast<std::size_t>(element_count(view.shape)) * size_bytes(view.dtype);
}

/// What picks a kernel beside structure and class.
bool same_wishes(const Problem& a, const Problem& b) {
  return a.outputs.max_scores == b.outputs.max_scores && a.scale == b.scale;
}

bool same_lengths(const Problem& a, const Problem& b) {
  return a.batch == b.batch && a.query_heads == b.query_heads && a.kv_heads == b.kv_heads &&
         a.q_len == b.q_len && a.kv_len == b.kv_len && a.q_base == b.q_base &&
         a.kv_base == b.kv_base;
}

/// By bits: NaN equals itself, 0 and -0 differ.
bool same_number(const ir::NumberValue& a, const ir::NumberValue& b) {
  return a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

}  // namespace

std::optional<CallSignature> CallSignature::of(const Program& program, const Problem& problem,
                                               bool with_tables) {
  CallSignature signature;
  signature.problem_ = problem;
  signature.numbers_ = program.bindings().numbers;
  signature.captures_ = program.bindings().captures;
  std::size_t bytes = 0;
  for (const TensorView& view : signature.captures_) {
    if (!with_tables) break;
    bytes += bytes_of(view);
    if (!is_contiguous(view) || bytes > kMaxTableBytes) return std::nullopt;
    const auto* begin = static_cast<const std::byte*>(view.data);
    signature.tables_.emplace_back(begin, begin + bytes_of(view));
  }
  return signature;
}

bool CallSignature::matches(const Program& program, const Problem& problem) const {
  const ir::Bindings& bindings = program.bindings();
  return same_lengths(problem_, problem) && same_wishes(problem_, problem) &&
         std::equal(numbers_.begin(), numbers_.end(), bindings.numbers.begin(),
                    bindings.numbers.end(), same_number) &&
         same_views(bindings.captures);
}

bool CallSignature::same_views(const std::vector<TensorView>& captures) const {
  if (captures.size() != captures_.size()) return false;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    const TensorView& view = captures[i];
    if (!(view.shape == captures_[i].shape) || !(view.strides == captures_[i].strides))
      return false;
    const bool has_table = !tables_.empty() && !tables_[i].empty();
    // A map reads its tables again, where they lay when it was built.
    if (has_table && (view.data != captures_[i].data ||
                      std::memcmp(view.data, tables_[i].data(), tables_[i].size()) != 0))
      return false;
  }
  return true;
}

}  // namespace tilewright
