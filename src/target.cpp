#include "tilewright/target.h"

#include "backends/list.h"
#include "config.h"

namespace tilewright {

std::vector<TargetInfo> targets() {
  std::vector<TargetInfo> infos;
  const Config config = read_config();
  for (const auto& backend :
       backends::make_backends(backend_options(with_config({}, config), config)))
    infos.push_back(backend->info());
  return infos;
}

}  // namespace tilewright
