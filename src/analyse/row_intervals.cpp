#include "analyse/row_intervals.h"

#include <algorithm>
#include <utility>

#include "analyse/bound_builder.h"
#include "analyse/key_form.h"

namespace tilewright::analyse {

using ir::NodeId;
using ir::Op;

namespace {

constexpr std::size_t kMaxRanges = 16;
constexpr int kMaxIntervalSteps = 2048;

using Ranges = std::optional<std::vector<KeyRange>>;

/// A condition known to hold where the node at hand matters.
struct Known {
  NodeId condition;
  bool truth;
};

class RowIntervalFinder {
 public:
  explicit RowIntervalFinder(const ir::Program& program)
      : program_(program), builder_(program), forms_(program, builder_) {}

  std::optional<RowIntervals> run() {
    const Ranges ranges = of(*program_.roots().mask, true);
    if (!ranges) return std::nullopt;
    return RowIntervals{.program = builder_.finish(),
                        .ranges = *ranges,
                        .runs = std::move(runs_),
                        .positive = std::move(forms_.positive),
                        .not_negative = std::move(forms_.not_negative)};
  }

 private:
  /// Key ranges in which the node has this truth value.
  Ranges of(NodeId id, bool truth) {
    if (++steps_ > kMaxIntervalSteps) return std::nullopt;
    if (!forms_.depends_on_key(id)) return of_row_condition(id, truth);
    const auto operands = program_.operands(id);
    switch (program_.node(id).op) {
      case Op::bnot:
        return of(operands[0], !truth);
      case Op::band:
        return truth ? both(operands, true) : either(operands, false);
      case Op::bor:
        return truth ? either(operands, true) : both(operands, false);
      case Op::ilt:
      case Op::ile:
      case Op::ieq:
      case Op::ine:
        return of_comparison(id, truth);
      default:
        return std::nullopt;
    }
  }

  /// All keys or none, as the row says.
  Ranges of_row_condition(NodeId id, bool truth) {
    const auto condition = forms_.row_value(id);
    if (!condition) return std::nullopt;
    const NodeId none = builder_.integer(0);
    const NodeId yes = truth ? *condition : builder_.apply(Op::bnot, {*condition});
    return std::vector<KeyRange>{
        {.begin = builder_.apply(Op::iselect, {yes, builder_.integer(-kUnboundedKey), none}),
         .end = builder_.apply(Op::iselect, {yes, builder_.integer(kUnboundedKey), none})}};
  }

  Ranges both(std::span<const NodeId> operands, bool truth) {
    const Ranges left = of(operands[0], truth);
    if (!left) return std::nullopt;
    // The right side matters only where the left one holds: guards that say so are met.
    forms_.suppose(operands[0], truth);
    const Ranges right = of(operands[1], truth);
    forms_.forget();
    if (!right || left->size() * right->size() > kMaxRanges) return std::nullopt;
    std::vector<KeyRange> all;
    for (const KeyRange& a : *left)
      for (const KeyRange& b : *right) all.push_back(intersect(a, b));
    return all;
  }

  Ranges either(std::span<const NodeId> operands, bool truth) {
    Ranges left = of(operands[0], truth);
    if (!left) return std::nullopt;
    forms_.suppose(operands[0], !truth);
    const Ranges right = of(operands[1], truth);
    forms_.forget();
    if (!right || left->size() + right->size() > kMaxRanges) return std::nullopt;
    left->insert(left->end(), right->begin(), right->end());
    return left;
  }

  KeyRange intersect(const KeyRange& a, const KeyRange& b) {
    return {.begin = builder_.apply(Op::imax, {a.begin, b.begin}),
            .end = builder_.apply(Op::imin, {a.end, b.end})};
  }

  Ranges of_comparison(NodeId id, bool truth) {
    const auto operands = program_.operands(id);
    const Op op = program_.node(id).op;
    if (op == Op::ieq || op == Op::ine) {
      const bool equal = (op == Op::ieq) == truth;
      if (const auto run = sorted_run(operands[0], operands[1])) return equality(*run, equal);
      if (const auto run = sorted_run(operands[1], operands[0])) return equality(*run, equal);
    }
    // not (a < b) is b <= a; not (a <= b) is b < a.
    const bool swaps = !truth && (op == Op::ilt || op == Op::ile);
    const auto left = forms_.of(operands[swaps ? 1 : 0]);
    const auto right = forms_.of(operands[swaps ? 0 : 1]);
    if (!left || !right) return std::nullopt;
    if (op == Op::ieq || op == Op::ine) {
      const auto range = forms_.where_equal(*left, *right);
      return range ? equality(*range, (op == Op::ieq) == truth) : std::nullopt;
    }
    const bool strict = (op == Op::ilt) == truth;
    return forms_.where_less(*left, *right, strict ? 1 : 0);
  }

  /// The range itself, or everything before and after it.
  Ranges equality(const KeyRange& range, bool equal) {
    if (equal) return std::vector{range};
    // An empty range has begin >= end: cutting at max(begin, end) keeps the two parts whole.
    const NodeId after = builder_.apply(Op::imax, {range.begin, range.end});
    return std::vector<KeyRange>{{.begin = builder_.integer(-kUnboundedKey), .end = range.begin},
                                 {.begin = after, .end = builder_.integer(kUnboundedKey)}};
  }

  /// `table[.., kv + shift, ..] == value`
  std::optional<KeyRange> sorted_run(NodeId table, NodeId other) {
    const ir::Node& node = program_.node(table);
    if (node.op != Op::kLoad || !forms_.depends_on_key(table) || !forms_.guard_is_met(table))
      return std::nullopt;
    SortedRun run;
    run.capture = static_cast<std::uint32_t>(node.payload);
    const auto value = forms_.row_value(other);
    if (!value || !read_subscripts(table, run)) return std::nullopt;
    run.value = *value;
    run.begin = builder_.number();
    run.end = builder_.number();
    runs_.push_back(run);
    return KeyRange{.begin = run.begin, .end = run.end};
  }

  bool read_subscripts(NodeId table, SortedRun& run) {
    const auto operands = program_.operands(table);
    for (std::size_t axis = 0; axis + 1 < operands.size(); ++axis) {
      if (const auto row = forms_.row_value(operands[axis])) {
        run.indices.push_back(*row);
        continue;
      }
      const auto form = forms_.of(operands[axis]);
      if (!form || form->factor != 1 || form->is_divided() || run.shift != ir::kNoNode)
        return false;
      run.axis = axis;
      run.shift = form->rest;
      run.indices.push_back(form->rest);
    }
    return run.shift != ir::kNoNode;
  }

  const ir::Program& program_;
  BoundBuilder builder_;
  KeyForms forms_;
  std::vector<SortedRun> runs_;
  int steps_ = 0;
};

}  // namespace

std::optional<RowIntervals> row_intervals(const ir::Program& program) {
  if (!program.roots().mask) return std::nullopt;
  return RowIntervalFinder(program).run();
}

std::string to_text(const RowIntervals& intervals) {
  std::string text;
  for (const KeyRange& range : intervals.ranges)
    text += "keys [%" + std::to_string(range.begin) + ", %" + std::to_string(range.end) + ")\n";
  for (const SortedRun& run : intervals.runs)
    text += "%" + std::to_string(run.begin) + ", %" + std::to_string(run.end) + ": where '" +
            intervals.program.captures()[run.capture].name + "' equals %" +
            std::to_string(run.value) + ", if it ascends along axis " + std::to_string(run.axis) +
            "\n";
  return text;
}

}  // namespace tilewright::analyse
