#include "analyse/facts.h"

#include <algorithm>

#include "analyse/affine.h"
#include "analyse/dependence.h"
#include "analyse/range_facts.h"
#include "analyse/row_intervals.h"
#include "analyse/table_range.h"

namespace tilewright::analyse {

namespace {

bool all_hold(const BindingFacts& facts) {
  return facts.fits_int32 && facts.subscripts_in_range && facts.dead_subscripts_in_range &&
         facts.divisors_nonzero;
}

/// The facts as far as these ranges of the captured tensors prove them.
BindingFacts facts_over(const ir::Program& program, const ir::Bindings& bindings,
                        const Problem& problem, const CaptureRange& capture_range) {
  const Domain exact = *domain_of(problem, 0);
  const Domain padded = *domain_of(problem, kMaxTileTokens);
  const auto ranges = value_ranges(program, bindings, exact, capture_range);
  const auto padded_ranges = value_ranges(program, bindings, padded, capture_range);
  const RangeQuestion question{program, bindings, capture_range, ranges};

  BindingFacts facts;
  const auto record = [&facts](Fact fact) {
    facts.reasons.push_back(std::move(fact.reason));
    return fact.holds;
  };
  facts.fits_int32 = record(fits_int32({program, bindings, capture_range, padded_ranges}));
  facts.subscripts_in_range = record(subscripts_in_range(question, true));
  facts.dead_subscripts_in_range = record(subscripts_in_range(question, false));
  facts.divisors_nonzero = record(divisors_nonzero(question));
  if (const auto bounds = score_bounds(question)) {
    facts.score_low = bounds->low;
    facts.score_high = bounds->high;
  }
  facts.reasons.push_back(facts.score_low
                              ? "finite scores lie in [" + std::to_string(*facts.score_low) + ", " +
                                    std::to_string(*facts.score_high) + "]"
                              : "scores have no proven bounds");
  return facts;
}

/// Nothing is ever evaluated: every fact holds.
BindingFacts facts_of_nothing() {
  return {.fits_int32 = true,
          .subscripts_in_range = true,
          .dead_subscripts_in_range = true,
          .divisors_nonzero = true,
          .score_low = std::nullopt,
          .score_high = std::nullopt,
          .reasons = {"the problem has no score"}};
}

const char* placement_name(Placement placement) {
  switch (placement) {
    case Placement::kLaunch:
      return "launch";
    case Placement::kTile:
      return "tile";
    case Placement::kRow:
      return "row";
    case Placement::kColumn:
      return "column";
    case Placement::kScore:
      break;
  }
  return "score";
}

std::string node_line(const StructureFacts& facts, const ir::Program& program, ir::NodeId id) {
  const ir::Node& node = program.node(id);
  const Dependence& on = facts.dependence[id];
  std::string line = "%" + std::to_string(id) + " ";
  line += ir::is_leaf(node.op) ? std::string("leaf") : std::string(ir::row(node.op).id);
  line += ": " + std::string(ir::name(node.type)) + ", on";
  const auto mention = [&line](bool depends, const char* name) {
    if (depends) line += std::string(" ") + name;
  };
  mention(on.score, "score");
  mention(on.b, "b");
  mention(on.h, "h");
  mention(on.q, "q");
  mention(on.kv, "kv");
  mention(!on.score && !on.b && !on.h && !on.q && !on.kv, "nothing");
  line += ", once per " + std::string(placement_name(facts.placement[id]));
  if (const auto& form = facts.affine[id]; form && (form->q_factor != 0 || form->kv_factor != 0))
    line += ", " + std::to_string(form->q_factor) + " q + " + std::to_string(form->kv_factor) +
            " kv + rest";
  return line + "\n";
}

const char* yes_no(bool fact) { return fact ? "yes" : "no"; }

}  // namespace

StructureFacts structure_facts(const ir::Program& program) {
  StructureFacts facts;
  facts.dependence = dependence(program);
  for (const Dependence& on : facts.dependence) facts.placement.push_back(placement(on));
  facts.affine = affine(program, facts.dependence);
  if (const auto mask = program.roots().mask) {
    facts.mask_depends_on_b = facts.dependence[*mask].b;
    facts.mask_depends_on_h = facts.dependence[*mask].h;
  }
  facts.mask_has_row_intervals = row_intervals(program).has_value();
  return facts;
}

BindingFacts binding_facts(const ir::Program& program, const ir::Bindings& bindings,
                           const Problem& problem) {
  if (!domain_of(problem, 0)) return facts_of_nothing();
  const CaptureRange by_dtype = [&](std::uint32_t capture) {
    return dtype_range(bindings.captures[capture].dtype);
  };
  BindingFacts facts = facts_over(program, bindings, problem, by_dtype);
  if (all_hold(facts)) return facts;

  // Reading the tables costs a pass over each, so that comes only where dtypes prove too little.
  const std::vector<bool> tells = captures_that_reach_integers(program);
  if (std::ranges::find(tells, true) == tells.end()) return facts;
  std::vector<std::optional<Interval>> known(bindings.captures.size());
  const CaptureRange by_content = [&](std::uint32_t capture) {
    const TensorView& view = bindings.captures[capture];
    if (!known[capture])
      known[capture] = tells[capture] ? table_range(view) : dtype_range(view.dtype);
    return *known[capture];
  };
  return facts_over(program, bindings, problem, by_content);
}

std::string to_text(const StructureFacts& facts, const ir::Program& program) {
  std::string text;
  for (ir::NodeId id = 0; id < program.size(); ++id) text += node_line(facts, program, id);
  text += std::string("mask depends on b: ") + yes_no(facts.mask_depends_on_b) + "\n";
  text += std::string("mask depends on h: ") + yes_no(facts.mask_depends_on_h) + "\n";
  text += std::string("mask has row intervals: ") + yes_no(facts.mask_has_row_intervals) + "\n";
  return text;
}

std::string to_text(const BindingFacts& facts) {
  std::string text;
  for (const std::string& reason : facts.reasons) text += reason + "\n";
  return text;
}

}  // namespace tilewright::analyse
