#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tilewright/author.h"
#include "tilewright/tensor.h"

#pragma GCC visibility push(default)

namespace tilewright {

#pragma GCC visibility push(hidden)
namespace ir {
class Program;
struct Bindings;
}  // namespace ir
#pragma GCC visibility pop

/// What attention does to one score: the traced structure of a score_mod and a mask_mod, plus the
/// numbers and tensors they read. A value type; copies share the structure.
class Program {
 public:
  /// No mods: every pair is live and keeps its score.
  Program();
  Program(std::shared_ptr<const ir::Program> structure, ir::Bindings bindings);
  Program(const Program&);
  Program(Program&&) noexcept;
  Program& operator=(const Program&);
  Program& operator=(Program&&) noexcept;
  ~Program();

  /// Reads the text form. Throws Error{kParse} that points at the line and column; safe on
  /// untrusted text.
  static Program parse(std::string_view text) { return parse(text, {}); }
  /// The same; the text may read these captures and numbers by name without declaring them, and a
  /// declaration of such a name is bound to them. Throws Error too for a declaration of another
  /// dtype or rank.
  static Program parse(std::string_view text, const std::vector<Capture>& captures,
                       const std::vector<Number>& numbers = {});
  /// The text form; parse(text()) has the same digests. Captured data is not part of it.
  std::string text() const;

  /// Rebinds a captured tensor by name; dtype and rank must match. Throws Error for an unknown
  /// name.
  void bind(std::string_view capture, const TensorView& view);
  /// Rebinds a named number. Throws Error for an unknown name.
  void set(std::string_view number, double value);
  void set(std::string_view number, std::int64_t value);
  void set(std::string_view number, int value) { set(number, static_cast<std::int64_t>(value)); }

  bool has_score_mod() const noexcept;
  bool has_mask_mod() const noexcept;
  std::vector<std::string> capture_names() const;
  std::vector<std::string> number_names() const;

  /// 32 hex digits that name the structure: no numbers, lengths, strides or offsets.
  std::string structure_digest() const;
  /// 32 hex digits that name structure and numbers; names a stored mask.
  std::string content_digest() const;

  const ir::Program& structure() const noexcept { return *structure_; }
  const ir::Bindings& bindings() const noexcept { return *bindings_; }

 private:
  std::shared_ptr<const ir::Program> structure_;
  std::unique_ptr<ir::Bindings> bindings_;
};

/// The two kinds of mod after type erasure. The tracer calls them once per path.
using ScoreMod = std::function<Value(Score, Index, Index, Index, Index)>;
using MaskMod = std::function<Value(Index, Index, Index, Index)>;

/// Traces mods; either may be empty. Throws Error{kTrace} naming what a mod may not contain.
Program trace_mods(const ScoreMod& score_mod, const MaskMod& mask_mod);

namespace author {

template <class F>
inline constexpr bool kIsScoreMod = std::is_invocable_v<F&, Score, Index, Index, Index, Index>;
template <class F>
inline constexpr bool kIsMaskMod = std::is_invocable_v<F&, Index, Index, Index, Index>;

template <class F>
void assign(ScoreMod& score_mod, MaskMod& mask_mod, F&& mod) {
  static_assert(kIsScoreMod<F> || kIsMaskMod<F>,
                "a mod is score_mod(Score, Index b, Index h, Index q, Index kv) or mask_mod(Index "
                "b, Index h, Index q, Index kv)");
  static_assert(!(kIsScoreMod<F> && kIsMaskMod<F>),
                "this callable takes four and five arguments: give it one signature");
  if constexpr (kIsScoreMod<F>) {
    score_mod = [f = std::forward<F>(mod)](Score s, Index b, Index h, Index q,
                                           Index kv) mutable -> Value { return f(s, b, h, q, kv); };
  } else {
    mask_mod = [f = std::forward<F>(mod)](Index b, Index h, Index q, Index kv) mutable -> Value {
      return f(b, h, q, kv);
    };
  }
}

}  // namespace author

/// Traces one or two mods, told apart by their signature, in any order:
/// `trace([](Index b, Index h, Index q, Index kv) { return q >= kv; })`.
template <class... Mods>
  requires(sizeof...(Mods) >= 1 && sizeof...(Mods) <= 2)
Program trace(Mods&&... mods) {
  ScoreMod score_mod;
  MaskMod mask_mod;
  (author::assign(score_mod, mask_mod, std::forward<Mods>(mods)), ...);
  return trace_mods(score_mod, mask_mod);
}

}  // namespace tilewright

#pragma GCC visibility pop
