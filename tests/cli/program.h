#pragma once

#include <string>
#include <vector>

namespace tilewright::testing {

/// What one run of the command-line program did.
struct ProgramRun {
  int exit_code = -1;  ///< -1: killed by a signal
  std::string out;
  std::string err;
};

/// Runs build/tilewright with these arguments, not through a shell; `environment` adds
/// "NAME=value".
ProgramRun run_program(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment = {});

}  // namespace tilewright::testing
