#include "config.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright {

namespace {

std::string text_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? std::string() : std::string(value);
}

int count_of(const char* variable) {
  const std::string text = text_of(variable);
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
  const std::string text = text_of(variable);
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
  return {.cpu_isa = text_of("TILEWRIGHT_CPU_ISA"),
          .cache_dir = text_of("TILEWRIGHT_CACHE_DIR"),
          .cache_layers = text_of("TILEWRIGHT_CACHE_LAYERS"),
          .xdg_cache_home = text_of("XDG_CACHE_HOME"),
          .home = text_of("HOME"),
          .record_dir = text_of("TILEWRIGHT_RECORD"),
          .record_data = switch_of("TILEWRIGHT_RECORD_DATA"),
          .backend = text_of("TILEWRIGHT_BACKEND"),
          .threads = count_of("TILEWRIGHT_THREADS")};
}

EngineOptions with_config(EngineOptions options, const Config& config) {
  fill(options.cpu_isa, config.cpu_isa);
  fill(options.cache_dir, config.cache_dir);
  fill(options.record_dir, config.record_dir);
  fill(options.backend, config.backend);
  options.record_data = options.record_data || config.record_data;
  if (options.threads == 0) options.threads = config.threads;
  return options;
}

}  // namespace tilewright
