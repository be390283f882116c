#include "base/formatted.h"
#include "cache/disk_store.h"
#include "io/json.h"

#include <algorithm>
#include <cstdint>
#include <memory>
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

io::Json to_json(const cache::EntryInfo& entry) {
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
    io::Json json = {{"folder", store.folder()},
                     {"memory_only", why},
                     {"kernels", entries.size()},
                     {"bytes", bytes_of(entries)},
                     {"removed", removed}};
    json["entries"] = io::Json::array();
    for (const cache::EntryInfo& entry : entries) json["entries"].push_back(to_json(entry));
    print_json(json);
    return kSuccess;
  }
  if (!why.empty()) {
    print("kernels are kept in memory only: " + why + "\n");
    return kSuccess;
  }
  print(formatted("{}: {} kernels, {} bytes\n", store.folder(), entries.size(), bytes_of(entries)));
  for (const cache::EntryInfo& entry : entries) {
    if (!command.list) break;
    print(formatted("  {}  {:>8} bytes  {}{}{}\n", entry.key, entry.bytes, entry.kernel_name,
                    usage_text(entry.entry_points), entry.damaged ? " (damaged)" : ""));
  }
  if (command.clear) print(formatted("removed {} kernels\n", removed));
  return kSuccess;
}

}  // namespace

Action declare_cache(OptionList& list) {
  auto command = std::make_shared<CacheCommand>();
  list.add({.name = "--cache-dir",
            .target = &command->folder,
            .meaning = "folder; by default the one that engines use",
            .value_name = "FOLDER"});
  list.add({.name = "--list", .target = &command->list, .meaning = "list every stored kernel"});
  list.add({.name = "--source",
            .target = &command->source,
            .meaning = "print the source of one stored kernel",
            .value_name = "KEY"});
  list.add({.name = "--sass",
            .target = &command->sass,
            .meaning = "print a GPU kernel's machine code, where nvdisasm is installed",
            .value_name = "KEY"});
  list.add({.name = "--clear", .target = &command->clear, .meaning = "remove every stored kernel"});
  list.add({.name = "--json", .target = &command->json, .meaning = "print as JSON"});
  list.end_with(
      "Examples:\n"
      "  tilewright cache --list\n"
      "  tilewright cache --clear");
  return [command] { return show_cache(*command); };
}

}  // namespace tilewright::cli
