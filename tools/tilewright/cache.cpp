#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "console.h"
#include "exit_code.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct CacheCommand {
  std::string folder;
  bool clear = false;
  bool json = false;
};

struct CacheContent {
  std::string folder;
  std::int64_t files = 0;
  std::uintmax_t bytes = 0;
};

[[noreturn]] void raise_folder(const std::string& folder, const std::error_code& fault) {
  throw Error({.code = ErrorCode::kIo,
               .what = "cannot read the cache: " + fault.message(),
               .where = folder,
               .expected = {},
               .got = {},
               .hint = {}});
}

/// Engines may keep kernels in memory only.
bool is_folder(const std::string& folder) { return !folder.empty() && folder != "none"; }

CacheContent content_of(const std::string& folder) {
  CacheContent content{.folder = folder, .files = 0, .bytes = 0};
  std::error_code fault;
  if (!is_folder(folder) || !std::filesystem::exists(folder, fault)) return content;
  for (std::filesystem::recursive_directory_iterator entry(folder, fault), end; entry != end;
       entry.increment(fault)) {
    if (fault) raise_folder(folder, fault);
    if (!entry->is_regular_file(fault)) continue;
    ++content.files;
    content.bytes += entry->file_size(fault);
  }
  if (fault) raise_folder(folder, fault);
  return content;
}

/// Removes what lies in the folder, the folder itself not.
void clear(const std::string& folder) {
  std::error_code fault;
  if (!is_folder(folder) || !std::filesystem::exists(folder, fault)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder, fault)) {
    std::filesystem::remove_all(entry.path(), fault);
    if (fault) raise_folder(entry.path(), fault);
  }
}

int show_cache(const CacheCommand& command) {
  EngineOptions options;
  options.cache_dir = command.folder;
  const std::string folder = Engine(options).options().cache_dir;
  const CacheContent content = content_of(folder);
  if (command.clear) clear(folder);
  if (command.json) {
    print_json({{"folder", content.folder},
                {"files", content.files},
                {"bytes", content.bytes},
                {"cleared", command.clear}});
  } else {
    print(fmt::format("{}: {} files, {} bytes{}\n",
                      is_folder(folder) ? folder : "kernels are kept in memory only", content.files,
                      content.bytes, command.clear ? ", now cleared" : ""));
  }
  return kSuccess;
}

}  // namespace

Action declare_cache(CLI::App& app) {
  auto command = std::make_shared<CacheCommand>();
  app.add_option("--cache-dir", command->folder, "folder; by default the one that engines use")
      ->type_name("FOLDER");
  app.add_flag("--clear", command->clear, "remove every stored kernel");
  app.add_flag("--json", command->json, "print as JSON");
  app.footer(
      "Examples:\n"
      "  tilewright cache\n"
      "  tilewright cache --clear");
  return [command] { return show_cache(*command); };
}

}  // namespace tilewright::cli
