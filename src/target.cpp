#include "tilewright/target.h"

#include "backends/list.h"

namespace tilewright {

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> infos;
  for (const auto& backend : backends::make_backends({})) infos.push_back(backend->info());
  return infos;
}

}  // namespace tilewright
