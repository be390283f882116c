#pragma once

#include "tilewright/error.h"

namespace tilewright::cli {

/// What the program ends with; scripts rely on these numbers (docs/command_line.md).
enum ExitCode : int {
  kSuccess = 0,
  kCheckFailed = 1,   ///< a comparison, or a case of verify, did not pass
  kUsage = 2,         ///< the command line itself is wrong
  kRefused = 3,       ///< the input cannot be meant or is not supported
  kSystemFailed = 4,  ///< the operating system refused a file or a library
  kInternal = 5,      ///< a bug in Tilewright
};

constexpr ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
      return kSystemFailed;
    case ErrorCode::kInternal:
      return kInternal;
    default:
      return kRefused;
  }
}

}  // namespace tilewright::cli
