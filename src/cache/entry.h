#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::cache {

/// One compiled kernel as it lies on disk: a folder with kernel.bin, source.txt and meta.txt.
struct Entry {
  std::string binary;  ///< object file or cubin
  std::string source;  ///< what it was compiled from
  std::string kernel_name;
  std::string toolchain;  ///< compiler, version, flags, target
  std::string
      entry_points;  ///< what load needs to know, one line each, no control characters but newlines
};

/// Why an entry could not be read: a damaged one must go, an unreadable one is only a miss.
enum class ReadFault : std::uint8_t { kNone, kAbsent, kDamaged, kUnreadable };

struct ReadEntry {
  std::optional<Entry> entry;
  ReadFault fault = ReadFault::kNone;
};

/// Reads and checks (format version, sizes, checksum over binary and source). Never throws.
ReadEntry read_entry(const std::string& folder);

/// Writes all files and syncs them and the folder, which must exist. Returns the reason where the
/// disk refuses.
std::optional<std::string> write_entry(const std::string& folder, const Entry& entry);

}  // namespace tilewright::cache
