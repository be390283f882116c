#include "backends/cuda/compile/compiler.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright::cuda {

namespace {

/// The number that ends right before `after`, the first time that it does.
int number_before(std::string_view log, std::string_view after) {
  const std::size_t end = log.find(after);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && log[begin - 1] >= '0' && log[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(log.data() + begin, log.data() + end, value);
  return value;
}

int number_after(std::string_view lines, std::string_view name) {
  const std::size_t at = lines.find(name);
  if (at == std::string_view::npos) return 0;
  int value = 0;
  std::from_chars(lines.data() + at + name.size(), lines.data() + lines.size(), value);
  return value;
}

[[noreturn]] void raise_no_target(const Nvrtc& nvrtc, const DeviceFacts& device) {
  throw Error(
      {.code = ErrorCode::kUnsupported,
       .what = "NVRTC " + nvrtc.version_text() + " cannot compile for this device",
       .where = device.name,
       .expected = "sm_" + std::to_string(device.capability()) + " or an older architecture",
       .got = "architectures from sm_" + std::to_string(nvrtc.architectures().front()),
       .hint = "choose another NVRTC with TILEWRIGHT_NVRTC"});
}

}  // namespace

CompileTarget compile_target(const Nvrtc& nvrtc, const DeviceFacts& device, Family family) {
  // ptxas -v puts registers and spills into the log; line numbers let profilers show sources. Not
  // --split-compile: NVRTC's threads may outlive the call, and the library is closed with the
  // engine.
  CompileTarget target{.options = {"--std=c++20", "--ptxas-options=-v"}, .to_ptx = false};
  const std::vector<int>& known = nvrtc.architectures();
  const bool exact = std::find(known.begin(), known.end(), device.capability()) != known.end();
  if (exact) {
    const char* const suffix = family == Family::kHopper ? "a" : "";
    target.options.push_back("--gpu-architecture=sm_" + std::to_string(device.capability()) +
                             suffix);
    return target;
  }
  const auto above = std::upper_bound(known.begin(), known.end(), device.capability());
  if (above == known.begin() || family == Family::kHopper) raise_no_target(nvrtc, device);
  target.to_ptx = true;
  target.options = {"--std=c++20",
                    "--gpu-architecture=compute_" + std::to_string(*std::prev(above))};
  return target;
}

std::string toolchain_text(const Nvrtc& nvrtc, const CompileTarget& target) {
  std::string text = "nvrtc " + nvrtc.version_text();
  for (const std::string& option : target.options) text += " " + option;
  return text;
}

KernelUsage usage_from_log(const std::string& kernel, const std::string& whole_log) {
  // The log tells of each kernel of a source after naming it.
  const std::size_t begin = whole_log.find("'" + kernel + "'");
  const std::string log = begin == std::string::npos ? whole_log : whole_log.substr(begin);
  return {.kernel = kernel,
          .registers = number_before(log, " registers"),
          .stack_bytes = number_before(log, " bytes stack frame"),
          .spill_store_bytes = number_before(log, " bytes spill stores"),
          .spill_load_bytes = number_before(log, " bytes spill loads")};
}

std::string to_lines(const KernelUsage& usage) {
  return "kernel " + usage.kernel + "\nregisters " + std::to_string(usage.registers) +
         "\nstack_bytes " + std::to_string(usage.stack_bytes) + "\nspill_store_bytes " +
         std::to_string(usage.spill_store_bytes) + "\nspill_load_bytes " +
         std::to_string(usage.spill_load_bytes) + "\n";
}

KernelUsage usage_from_lines(const std::string& lines) {
  KernelUsage usage{.kernel = {},
                    .registers = number_after(lines, "\nregisters "),
                    .stack_bytes = number_after(lines, "\nstack_bytes "),
                    .spill_store_bytes = number_after(lines, "\nspill_store_bytes "),
                    .spill_load_bytes = number_after(lines, "\nspill_load_bytes ")};
  if (lines.starts_with("kernel ")) usage.kernel = lines.substr(7, lines.find('\n') - 7);
  return usage;
}

backends::Binary compile(const Nvrtc& nvrtc, const CompileTarget& target,
                         const backends::Source& source) {
  const CompileResult result = nvrtc.compile({.file_name = source.kernel_name + ".cu",
                                              .text = source.text,
                                              .options = target.options,
                                              .to_ptx = target.to_ptx});
  if (!result.succeeded)
    throw Error({.code = ErrorCode::kInternal,
                 .what = "a kernel does not compile",
                 .where = source.kernel_name,
                 .expected = "text that " + source.toolchain + " accepts",
                 .got = result.log,
                 .hint = "`tilewright explain --stage source` prints the text"});
  return {.bytes = result.bytes,
          .entry_points = to_lines(usage_from_log(source.kernel_name, result.log))};
}

}  // namespace tilewright::cuda
