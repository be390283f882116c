#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "cache/entry.h"

namespace tilewright::cache {

/// Where kernels are kept between processes.
struct DiskOptions {
  std::string folder;                  ///< empty: none
  std::string why_none;                ///< said where folder is empty
  std::vector<std::string> read_only;  ///< layers looked at first, for baked images; never written
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;
};

/// One entry as `tilewright cache` lists it.
struct EntryInfo {
  std::string key;
  std::string kernel_name;
  std::string toolchain;
  std::string entry_points;  ///< a GPU kernel's registers and spills, one a line
  std::uint64_t bytes = 0;
  std::int64_t last_used = 0;  ///< seconds since 1970
  bool damaged = false;
};

/// A cache of compiled kernels on disk. An entry is a folder that appears by one rename, so a
/// process killed at any moment leaves a whole entry or none. Damaged entries are removed and made
/// again; an I/O error is a miss; a folder that cannot be written is remembered as read-only.
/// Thread-safe and safe between processes. Never throws: the disk is only a short cut.
class DiskStore {
 public:
  /// Makes the folder with mode 0700. A folder that belongs to somebody else or that others may
  /// write is not used.
  explicit DiskStore(DiskOptions options);

  /// Empty where the folder serves; else why kernels stay in memory.
  const std::string& why_memory_only() const noexcept { return why_memory_only_; }
  const std::string& folder() const noexcept { return options_.folder; }

  std::optional<Entry> find(const Digest& key) const;

  /// The entry of `key`, or what `make` makes, which is then kept. Processes that race for one key
  /// make it once: the others wait for its lock. Second: whether it came from disk.
  std::pair<Entry, bool> get(const Digest& key, const std::function<Entry()>& make);

  std::vector<EntryInfo> list() const;
  /// The entry whose key begins with `prefix`; absent where none or several do.
  std::optional<Entry> find_prefix(const std::string& prefix) const;
  /// Removes every entry, and nothing else that may lie in the folder. Returns how many.
  std::int64_t clear();
  /// Removes the least recently used entries until the rest is under 80 % of the limit, if it is
  /// over the limit.
  void sweep();

 private:
  std::string entry_folder(const std::string& key) const;
  void publish(const Digest& key, const Entry& entry);
  void sweep_hourly();

  DiskOptions options_;
  std::string why_memory_only_;
};

/// The user's cache folder: `chosen` if given ("none": no folder), else $XDG_CACHE_HOME/tilewright,
/// else $HOME/.cache/tilewright; with the reason where there is none.
DiskOptions user_cache(const std::string& chosen, const std::string& xdg_cache_home,
                       const std::string& home);

}  // namespace tilewright::cache
