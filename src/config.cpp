#include "config.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright {

namespace {

std::string variable_text(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

int count_of(const char* variable) {
  const std::string text = variable_text(variable);
  if (text.empty()) return 0;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1) return value;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "an environment variable has a value that cannot be meant",
               .where = variable,
               .expected = "a count of at least 1",
               .got = text,
               .hint = "unset it for the default"});
}

bool switch_of(const char* variable) {
  const std::string text = variable_text(variable);
  if (text.empty() || text == "0" || text == "1") return text == "1";
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "an environment variable has a value that cannot be meant",
               .where = variable,
               .expected = "0 or 1",
               .got = text,
               .hint = "unset it for the default"});
}

void fill(std::string& option, const std::string& value) {
  if (option.empty()) option = value;
}

}  // namespace

Config read_config() {
  return {.cpu_isa = variable_text("TILEWRIGHT_CPU_ISA"),
          .cache_dir = variable_text("TILEWRIGHT_CACHE_DIR"),
          .cache_layers = variable_text("TILEWRIGHT_CACHE_LAYERS"),
          .xdg_cache_home = variable_text("XDG_CACHE_HOME"),
          .home = variable_text("HOME"),
          .record_dir = variable_text("TILEWRIGHT_RECORD"),
          .record_data = switch_of("TILEWRIGHT_RECORD_DATA"),
          .backend = variable_text("TILEWRIGHT_BACKEND"),
          .threads = count_of("TILEWRIGHT_THREADS"),
          .checked = switch_of("TILEWRIGHT_CHECKED"),
          .deterministic = switch_of("TILEWRIGHT_DETERMINISTIC"),
          .nvrtc = variable_text("TILEWRIGHT_NVRTC"),
          .cuda_driver = variable_text("TILEWRIGHT_CUDA_DRIVER"),
          .kernel_dir = variable_text("TILEWRIGHT_KERNEL_DIR"),
          .virtual_env = variable_text("VIRTUAL_ENV"),
          .cuda_home = variable_text("CUDA_HOME"),
          .cuda_path = variable_text("CUDA_PATH")};
}

EngineOptions with_config(EngineOptions options, const Config& config) {
  fill(options.cpu_isa, config.cpu_isa);
  fill(options.cache_dir, config.cache_dir);
  fill(options.record_dir, config.record_dir);
  fill(options.backend, config.backend);
  fill(options.nvrtc, config.nvrtc);
  fill(options.cuda_driver, config.cuda_driver);
  fill(options.kernel_dir, config.kernel_dir);
  options.checked = options.checked || config.checked;
  options.deterministic = options.deterministic || config.deterministic;
  options.record_data = options.record_data || config.record_data;
  if (options.threads == 0) options.threads = config.threads;
  return options;
}

backends::BackendOptions backend_options(const EngineOptions& options, const Config& config) {
  backends::BackendOptions result{.threads = options.threads,
                                  .cpu_isa = options.cpu_isa,
                                  .cuda_driver = options.cuda_driver,
                                  .nvrtc = options.nvrtc,
                                  .kernel_dir = options.kernel_dir,
                                  .virtual_env = config.virtual_env,
                                  .cuda_toolkits = {}};
  for (const std::string& toolkit : {config.cuda_home, config.cuda_path})
    if (!toolkit.empty()) result.cuda_toolkits.push_back(toolkit);
  return result;
}

}  // namespace tilewright
