#include "cache/entry.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"

namespace tilewright::cache {

namespace {

constexpr std::string_view kFormat = "tilewright cache entry 1";

/// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

 private:
  int number_;
};

std::optional<std::string> read_file(const std::string& path, int& fault) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  fault = errno;
  if (!file.is_open()) return std::nullopt;
  std::string bytes;
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t count = ::read(file.number(), part.data(), part.size());
    fault = errno;
    if (count < 0) return std::nullopt;
    if (count == 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
}

std::optional<std::string> write_file(const std::string& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return path + ": " + std::strerror(errno);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0) return path + ": " + std::strerror(errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fsync(file.number()) != 0) return path + ": " + std::strerror(errno);
  return std::nullopt;
}

std::string checksum_of(const Entry& entry) {
  return hex(
      DigestWriter().text(entry.binary).text(entry.source).text(entry.entry_points).finish());
}

/// Lines "key value"; entry points have a line each.
std::string meta_text(const Entry& entry) {
  std::string text(kFormat);
  const auto line = [&text](std::string_view key, std::string_view value) {
    text += "\n";
    text += key;
    text += " ";
    text += value;
  };
  line("kernel", entry.kernel_name);
  line("toolchain", entry.toolchain);
  line("binary_bytes", std::to_string(entry.binary.size()));
  line("source_bytes", std::to_string(entry.source.size()));
  line("checksum", checksum_of(entry));
  std::string_view rest = entry.entry_points;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    line("entry", rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return text + "\n";
}

struct Meta {
  std::map<std::string, std::string, std::less<>> fields;
  std::string entry_points;
};

std::optional<Meta> parse_meta(std::string_view text) {
  Meta meta;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (first && line != kFormat) return std::nullopt;
    if (std::exchange(first, false)) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const std::string_view value = line.substr(space + 1);
    if (line.substr(0, space) == "entry")
      meta.entry_points += std::string(value) + "\n";
    else
      meta.fields.emplace(line.substr(0, space), value);
  }
  return meta;
}

bool agrees(const Meta& meta, const Entry& entry) {
  const auto field = [&meta](std::string_view key) {
    const auto found = meta.fields.find(key);
    return found == meta.fields.end() ? std::string() : found->second;
  };
  return field("binary_bytes") == std::to_string(entry.binary.size()) &&
         field("source_bytes") == std::to_string(entry.source.size()) &&
         field("checksum") == checksum_of(entry);
}

ReadFault fault_of(int error) {
  return error == ENOENT ? ReadFault::kAbsent : ReadFault::kUnreadable;
}

}  // namespace

ReadEntry read_entry(const std::string& folder) {
  int error = 0;
  const std::optional<std::string> meta_bytes = read_file(folder + "/meta.txt", error);
  if (!meta_bytes) return {std::nullopt, fault_of(error)};
  std::optional<std::string> binary = read_file(folder + "/kernel.bin", error);
  std::optional<std::string> source = read_file(folder + "/source.txt", error);
  // The folder appears whole or not at all, so a missing part is damage, not absence.
  if (!binary || !source)
    return {std::nullopt, error == ENOENT ? ReadFault::kDamaged : ReadFault::kUnreadable};
  std::optional<Meta> meta = parse_meta(*meta_bytes);
  if (!meta) return {std::nullopt, ReadFault::kDamaged};
  Entry entry{.binary = std::move(*binary),
              .source = std::move(*source),
              .kernel_name = meta->fields["kernel"],
              .toolchain = meta->fields["toolchain"],
              .entry_points = meta->entry_points};
  if (!agrees(*meta, entry)) return {std::nullopt, ReadFault::kDamaged};
  return {std::move(entry), ReadFault::kNone};
}

std::optional<std::string> write_entry(const std::string& folder, const Entry& entry) {
  if (auto reason = write_file(folder + "/kernel.bin", entry.binary)) return reason;
  if (auto reason = write_file(folder + "/source.txt", entry.source)) return reason;
  if (auto reason = write_file(folder + "/meta.txt", meta_text(entry))) return reason;
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.number()) != 0)
    return folder + ": " + std::strerror(errno);
  return std::nullopt;
}

}  // namespace tilewright::cache
