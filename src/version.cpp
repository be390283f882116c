#include "tilewright/target.h"

namespace tilewright {

const char* version() noexcept { return TILEWRIGHT_VERSION; }

}  // namespace tilewright
