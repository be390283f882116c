#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/contract/backend.h"
#include "backends/cuda/device_facts.h"
#include "backends/cuda/kernel_row.h"
#include "backends/cuda/nvrtc/nvrtc.h"

namespace tilewright::cuda {

/// What NVRTC is told and what it makes for one device: machine code, or PTX where the device is
/// newer than the compiler.
struct CompileTarget {
  std::vector<std::string> options;
  bool to_ptx = false;
};

/// Options for a row on a device. "sm_90a" for the Hopper family, "sm_<capability>" for the
/// portable one where `nvrtc` knows it, else PTX of the newest architecture that it knows and the
/// device has. Throws Error{kUnsupported} where there is none.
CompileTarget compile_target(const Nvrtc& nvrtc, const DeviceFacts& device, Family family);

/// Compiler, version and options in a line, as the cache keys them.
std::string toolchain_text(const Nvrtc& nvrtc, const CompileTarget& target);

/// What a compiled kernel takes, as lines "name value" of Binary::entry_points.
struct KernelUsage {
  std::string kernel;
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
};
KernelUsage usage_from_log(const std::string& kernel, const std::string& log);
std::string to_lines(const KernelUsage& usage);
KernelUsage usage_from_lines(const std::string& lines);

/// Compiles self-contained text. Throws Error{kInternal} with the compiler's log: emitted text that
/// does not compile is a bug of Tilewright, or of an edited kernel folder.
backends::Binary compile(const Nvrtc& nvrtc, const CompileTarget& target,
                         const backends::Source& source);

}  // namespace tilewright::cuda
