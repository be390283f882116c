#pragma once

// The forward problems that the speed goals name: one batch, a few heads, S x S tokens, mods as
// text, tensors filled with values of about unit variance.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/half.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"

namespace tilewright::bench {

inline constexpr std::int64_t kWindowTokens = 1024;
inline constexpr std::int64_t kDocuments = 12;

struct ForwardCase {
  const char* name;
  const char* text;
};

/// The first two are full and causal: the others are compared with causal.
inline const std::vector<ForwardCase>& forward_cases() {
  static const std::vector<ForwardCase> cases = {
      {"full", ""},
      {"causal", "q >= kv"},
      {"alibi causal", "mask = q >= kv\nscore = score + (kv - q) * exp2(-8.0 * (h + 1) / 4)"},
      {"window 1024", "(q >= kv) & (q - kv < 1024)"},
      {"documents", "capture doc: i32[1]\n(q >= kv) & (doc[q] == doc[kv])"},
      {"softcap causal", "mask = q >= kv\nscore = 20.0 * tanh(score / 20.0)"}};
  return cases;
}

/// query, key, value and out [1, heads, tokens, head_dim], and the table of documents.
class ForwardTensors {
 public:
  ForwardTensors(DType dtype, std::int64_t heads, std::int64_t tokens, std::int64_t head_dim)
      : dtype_(dtype),
        shape_({1, heads, tokens, head_dim}),
        doc_(static_cast<std::size_t>(tokens)) {
    const auto count = static_cast<std::size_t>(element_count(shape_));
    for (std::vector<char>& each : bytes_) each.resize(count * size_bytes(dtype));
    std::uint64_t state = 1;
    for (std::size_t tensor = 0; tensor < 3; ++tensor)
      for (std::size_t i = 0; i < count; ++i) store(tensor, i, next(state));
    for (std::int64_t i = 0; i < tokens; ++i)
      doc_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * kDocuments / tokens);
  }

  ForwardInputs inputs() { return {view(0), view(1), view(2)}; }
  ForwardOutputs outputs() { return {.out = view(3), .lse = {}, .max_scores = {}}; }

  /// The program with its table bound.
  Program program(const ForwardCase& each) {
    Program program = Program::parse(each.text);
    if (!program.capture_names().empty())
      program.bind("doc",
                   contiguous(doc_.data(), DType::kI32, {static_cast<std::int64_t>(doc_.size())}));
    return program;
  }

  /// Live pairs over all heads.
  std::int64_t live_pairs(const Program& program) const {
    const std::int64_t heads = shape_[1], tokens = shape_[2];
    if (!program.has_mask_mod()) return heads * tokens * tokens;
    MaskMapOptions options;
    options.q_len = tokens;
    options.kv_len = tokens;
    return heads * MaskMap::build(program, options).live_pairs();
  }

 private:
  TensorView view(std::size_t tensor) { return contiguous(bytes_[tensor].data(), dtype_, shape_); }

  /// Uniform in +-sqrt(3): variance 1.
  static float next(std::uint64_t& state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (static_cast<float>(state >> 40) / 8388608.0F - 1.0F) * 1.7320508F;
  }

  void store(std::size_t tensor, std::size_t i, float value) {
    char* const data = bytes_[tensor].data();
    if (dtype_ == DType::kF32) reinterpret_cast<float*>(data)[i] = value;
    if (dtype_ == DType::kBF16) reinterpret_cast<std::uint16_t*>(data)[i] = float_to_bf16(value);
  }

  DType dtype_;
  Dims shape_;
  std::vector<char> bytes_[4];
  std::vector<std::int32_t> doc_;
};

}  // namespace tilewright::bench
