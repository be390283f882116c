#include "gradient_stage.h"

#include <utility>

namespace tilewright {

std::shared_ptr<const GradientStage> GradientStages::get(const ir::Program& structure,
                                                         const ir::DerivativeRequest& request) {
  std::vector<bool> key = request.captures;
  key.push_back(request.d_score);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = stages_.find(key); found != stages_.end()) return found->second;
  }
  auto stage = std::make_shared<GradientStage>();
  stage->derivative = ir::differentiate(structure, request);
  stage->facts = analyse::structure_facts(*stage->derivative.program);
  const std::lock_guard lock(mutex_);
  return stages_.try_emplace(std::move(key), std::move(stage)).first->second;
}

}  // namespace tilewright
