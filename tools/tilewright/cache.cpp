#include "cache/disk_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "console.h"
#include "disassembly.h"
#include "exit_code.h"
#include "tilewright/error.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct CacheCommand {
  std::string folder;
  bool list = false;
  std::string source;
  std::string sass;
  bool clear = false;
  bool json = false;
};

cache::DiskStore open_store(const CacheCommand& command) {
  const Config config = read_config();
  const std::string chosen = command.folder.empty() ? config.cache_dir : command.folder;
  return cache::DiskStore(cache::user_cache(chosen, config.xdg_cache_home, config.home));
}

nlohmann::ordered_json to_json(const cache::EntryInfo& entry) {
  return {{"key", entry.key},
          {"kernel", entry.kernel_name},
          {"toolchain", entry.toolchain},
          {"usage", entry.entry_points},
          {"bytes", entry.bytes},
          {"last_used", entry.last_used},
          {"damaged", entry.damaged}};
}

std::uint64_t bytes_of(const std::vector<cache::EntryInfo>& entries) {
  std::uint64_t bytes = 0;
  for (const cache::EntryInfo& entry : entries) bytes += entry.bytes;
  return bytes;
}

/// ", registers 168, spill_store_bytes 0" and so on; empty for a CPU kernel.
std::string usage_text(const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    if (!line.starts_with("kernel ")) text += ", " + line;
    begin = end + 1;
  }
  return text;
}

int show_entry(const CacheCommand& command) {
  const bool wants_sass = command.source.empty();
  const std::string& key = wants_sass ? command.sass : command.source;
  const std::optional<cache::Entry> entry = open_store(command).find_prefix(key);
  if (!entry) {
    throw Error({.code = ErrorCode::kInvalidArgument,
                 .what = "no single stored kernel has this key",
                 .where = wants_sass ? "--sass" : "--source",
                 .expected = "the first digits of a key that `tilewright cache --list` shows",
                 .got = key,
                 .hint = {}});
  }
  if (wants_sass)
    print(disassembled(entry->binary));
  else
    print(entry->source + "\n");
  return kSuccess;
}

int show_cache(const CacheCommand& command) {
  if (!command.source.empty() || !command.sass.empty()) return show_entry(command);
  cache::DiskStore store = open_store(command);
  const std::string why = store.why_memory_only();
  const std::vector<cache::EntryInfo> entries =
      why.empty() ? store.list() : std::vector<cache::EntryInfo>();
  const std::int64_t removed = command.clear && why.empty() ? store.clear() : 0;
  if (command.json) {
    nlohmann::ordered_json json = {{"folder", store.folder()},
                                   {"memory_only", why},
                                   {"kernels", entries.size()},
                                   {"bytes", bytes_of(entries)},
                                   {"removed", removed}};
    json["entries"] = nlohmann::ordered_json::array();
    for (const cache::EntryInfo& entry : entries) json["entries"].push_back(to_json(entry));
    print_json(json);
    return kSuccess;
  }
  if (!why.empty()) {
    print("kernels are kept in memory only: " + why + "\n");
    return kSuccess;
  }
  print(
      fmt::format("{}: {} kernels, {} bytes\n", store.folder(), entries.size(), bytes_of(entries)));
  for (const cache::EntryInfo& entry : entries) {
    if (!command.list) break;
    print(fmt::format("  {}  {:>8} bytes  {}{}{}\n", entry.key, entry.bytes, entry.kernel_name,
                      usage_text(entry.entry_points), entry.damaged ? " (damaged)" : ""));
  }
  if (command.clear) print(fmt::format("removed {} kernels\n", removed));
  return kSuccess;
}

}  // namespace

Action declare_cache(CLI::App& app) {
  auto command = std::make_shared<CacheCommand>();
  app.add_option("--cache-dir", command->folder, "folder; by default the one that engines use")
      ->type_name("FOLDER");
  app.add_flag("--list", command->list, "list every stored kernel");
  app.add_option("--source", command->source, "print the source of one stored kernel")
      ->type_name("KEY");
  app.add_option("--sass", command->sass,
                 "print a GPU kernel's machine code, where nvdisasm is installed")
      ->type_name("KEY");
  app.add_flag("--clear", command->clear, "remove every stored kernel");
  app.add_flag("--json", command->json, "print as JSON");
  app.footer(
      "Examples:\n"
      "  tilewright cache --list\n"
      "  tilewright cache --clear");
  return [command] { return show_cache(*command); };
}

}  // namespace tilewright::cli
