#include "piece_check.h"

#include <algorithm>
#include <cmath>

#include "base/element.h"
#include "base/formatted.h"
#include "io/json.h"
#include "meaning_check.h"
#include "owned_tensor.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

constexpr std::size_t kTokenAxis = 2;

double max_difference(const TensorView& a, const TensorView& b) {
  double most = 0;
  for (std::int64_t i = 0; i < element_count(a.shape); ++i) {
    const double x = read_real(a, strided_offset(a, i));
    const double y = read_real(b, strided_offset(b, i));
    most = std::max(most, std::abs(x - y));
  }
  return most;
}

}  // namespace

std::vector<std::int64_t> piece_bounds(const TensorView& cu_seqlens, std::int64_t length) {
  std::vector<std::int64_t> bounds;
  if (cu_seqlens.rank() == 1 && !is_floating(cu_seqlens.dtype)) {
    for (std::int64_t i = 0; i < cu_seqlens.shape[0]; ++i) {
      bounds.push_back(read_integer(cu_seqlens, i * cu_seqlens.strides[0]));
    }
  }
  const bool whole = bounds.size() >= 2 && bounds.front() == 0 && bounds.back() == length &&
                     std::ranges::is_sorted(bounds);
  if (whole) return bounds;
  throw Error(
      {.code = ErrorCode::kInvalidArgument,
       .what = "the pieces do not cover the sequence",
       .where = "--alone",
       .expected = formatted("whole numbers that rise from 0 to {}", length),
       .got = formatted("{} numbers of shape {}", bounds.size(), to_string(cu_seqlens.shape)),
       .hint = {}});
}

PieceCheck check_pieces(Engine& engine, const Program& unmasked, const ForwardInputs& inputs,
                        const TensorView& packed_out, const std::vector<std::int64_t>& bounds) {
  PieceCheck check;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const auto cut = [&](const TensorView& view) {
      return sliced(view, kTokenAxis, bounds[i], bounds[i + 1]);
    };
    const ForwardInputs piece{cut(inputs.query), cut(inputs.key), cut(inputs.value)};
    const TensorView packed = cut(packed_out);
    const OwnedTensor alone = make_tensor(packed.dtype, packed.shape);
    engine.attention(unmasked, piece, {.out = alone.view, .lse = {}, .max_scores = {}});
    check.max_difference = std::max(check.max_difference, max_difference(packed, alone.view));
    const MeaningCheck meaning =
        check_meaning(unmasked, piece, {.out = packed, .lse = {}, .max_scores = {}}, CallOptions{});
    ++check.pieces;
    check.passed += meaning.passed ? 1 : 0;
    if (!meaning.passed && check.reason.empty()) {
      check.reason = formatted("piece {}: {}", i, meaning.reason);
    }
  }
  return check;
}

io::Json to_json(const PieceCheck& check) {
  return {{"pieces", check.pieces},
          {"passed", check.passed},
          {"max_difference", check.max_difference},
          {"reason", check.reason}};
}

std::string to_text(const PieceCheck& check) {
  const bool all = check.passed == check.pieces;
  return formatted("{} of {} pieces equal attention of the piece alone (max difference {:.2e}){}",
                   check.passed, check.pieces, check.max_difference,
                   all ? "" : ": FAILED, " + check.reason);
}

}  // namespace tilewright::cli
