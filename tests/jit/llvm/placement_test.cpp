#include "backends/cpu/jit/llvm/placement.h"

#include <gtest/gtest.h>

#include "analyse/facts.h"
#include "tilewright/author.h"
#include "tilewright/program.h"

/// Where a pass computes loads and divisions that a path condition guards.
namespace tilewright::test {
namespace {

using cpu::jit::NodePlaces;
using cpu::jit::Scope;

NodePlaces places_of(const Program& program, cpu::jit::PassChecks checks = {}) {
  return cpu::jit::place_nodes(program.structure(), analyse::structure_facts(program.structure()),
                               checks);
}

/// Of every node with this op, where its value (a load: its element) is first there.
std::vector<Scope> scopes_of(const Program& program, const NodePlaces& places, ir::Op op) {
  std::vector<Scope> found;
  for (ir::NodeId id = 0; id < program.structure().size(); ++id)
    if (program.structure().node(id).op == op)
      found.push_back(places.early_loads[id].value_or(places.scopes[id]));
  return found;
}

struct Documents {
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(64);
  Capture doc{"doc", contiguous(ids.data(), DType::kI32, {64})};
};

TEST(Placement, GuardedLoadsAreReadPerRowAndColumn) {
  const Documents documents;
  const Capture& doc = documents.doc;
  const Program guarded =
      trace([&](Index, Index, Index q, Index kv) { return q >= kv && doc(q) == doc(kv); });
  const Program plain =
      trace([&](Index, Index, Index q, Index kv) { return (q >= kv) & (doc(q) == doc(kv)); });
  const std::vector<Scope> expected = {Scope::kRow, Scope::kColumn};
  EXPECT_EQ(scopes_of(plain, places_of(plain), ir::Op::kLoad), expected);
  EXPECT_EQ(scopes_of(guarded, places_of(guarded), ir::Op::kLoad), expected);
}

TEST(Placement, FaultsOfGuardedLoadsAreFoundPerScore) {
  const Documents documents;
  const Capture& doc = documents.doc;
  const Program guarded =
      trace([&](Index, Index, Index q, Index kv) { return q >= kv && doc(q) == doc(kv); });
  const std::vector<Scope> expected = {Scope::kScore, Scope::kScore};
  EXPECT_EQ(scopes_of(guarded, places_of(guarded, {.faults = true}), ir::Op::kLoad), expected);
}

TEST(Placement, GuardedDivisionsIgnoreTheirGuard) {
  const Program program = trace(
      [](Index, Index h, Index q, Index kv) { return q >= kv && q / (h + 1) == kv / (h + 1); });
  const std::vector<Scope> expected = {Scope::kRow, Scope::kColumn};
  EXPECT_EQ(scopes_of(program, places_of(program), ir::Op::itrunc_div), expected);
}

TEST(Placement, SubscriptsOfBothStayPerScore) {
  const Documents documents;
  const Capture& doc = documents.doc;
  const Program program =
      trace([&](Index, Index, Index q, Index kv) { return q >= kv && doc(q - kv) == 0; });
  EXPECT_EQ(scopes_of(program, places_of(program), ir::Op::kLoad),
            std::vector<Scope>{Scope::kScore});
}

}  // namespace
}  // namespace tilewright::test
