#pragma once

#include <string>

#include "analyse/facts.h"
#include "cuda_emit/host_programs.h"
#include "plan/plan.h"
#include "tilewright/program.h"

namespace tilewright::test {

/// One program in one variant, emitted for a batch and compared with the interpreter.
class EmittedCase {
 public:
  EmittedCase(std::string name, const Program& program, const Problem& problem,
              backends::Variant variant, HostPrograms& batch);

  /// After the batch was built: random pairs, faults where the variant reports them, tiles.
  void check(const HostPrograms& batch, int pairs) const;

  const cuda::ModsText& mods() const { return mods_; }

 private:
  void check_pairs(const HostPrograms& batch, HostBlock& block, int pairs) const;
  void check_faults(const HostPrograms& batch, HostBlock& block, int pairs) const;
  void check_tiles(const HostPrograms& batch, const HostBlock& block) const;

  std::string name_;
  Program program_;
  Problem problem_;
  backends::Variant variant_;
  cuda::ModsText mods_;
  std::size_t number_ = 0;
};

cuda::ModsText emitted_mods(const ir::Program& program, const Problem& problem,
                            backends::Variant variant);

/// The variants that facts allow: 32 bits where proven, 64 bits, and the one that reports.
std::vector<backends::Variant> variants_of(const Program& program, const Problem& problem);

}  // namespace tilewright::test
