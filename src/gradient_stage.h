#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "analyse/facts.h"
#include "ir/differentiate.h"

namespace tilewright {

/// A structure's derivatives for one set of wanted gradients, with their facts.
struct GradientStage {
  ir::Derivative derivative;
  analyse::StructureFacts facts;
};

/// The stages of one structure, each made once. Thread-safe.
class GradientStages {
 public:
  std::shared_ptr<const GradientStage> get(const ir::Program& structure,
                                           const ir::DerivativeRequest& request);

 private:
  std::mutex mutex_;
  std::map<std::vector<bool>, std::shared_ptr<const GradientStage>> stages_;
};

}  // namespace tilewright
