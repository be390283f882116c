#pragma once

#include <string>
#include <string_view>

#include "prepared.h"

namespace tilewright {

/// One stage of the flow as text: program, facts, plan, source, or all. Throws Error for another
/// word.
std::string explain_stage(Prepared& prepared, const Program& program, const Problem& problem,
                          std::string_view stage);

}  // namespace tilewright
