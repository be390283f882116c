#include "cache/disk_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

namespace tilewright::cache {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSweepSeconds = 3600;

bool is_key(const std::string& name) {
  return name.size() == 32 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Makes the folder and its parents; says why it cannot be used.
std::string prepare_folder(const std::string& folder) {
  std::error_code error;
  const fs::path parent = fs::path(folder).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return folder + ": " + std::strerror(errno);
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return folder + ": " + std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return folder + ": not a folder";
  if (status.st_uid != ::geteuid()) return folder + ": belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return folder + ": others may write to it (chmod 700)";
  return {};
}

/// An exclusive lock on a file, held until destruction; a killed process lets go of it.
class KeyLock {
 public:
  explicit KeyLock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (file_ >= 0 && ::flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~KeyLock() {
    if (file_ >= 0) ::close(file_);
  }
  KeyLock(const KeyLock&) = delete;
  KeyLock& operator=(const KeyLock&) = delete;

 private:
  int file_;
};

std::uint64_t folder_bytes(const std::string& folder) {
  std::error_code error;
  std::uint64_t bytes = 0;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    const std::uintmax_t size = file->file_size(error);
    if (!error) bytes += size;
  }
  return bytes;
}

std::int64_t modified(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_mtime) : 0;
}

std::string unique_name() {
  static std::atomic<std::uint64_t> counter{0};
  return std::to_string(::getpid()) + "-" + std::to_string(counter.fetch_add(1)) + "-" +
         std::to_string(static_cast<std::uint64_t>(std::time(nullptr)));
}

}  // namespace

DiskStore::DiskStore(DiskOptions options) : options_(std::move(options)) {
  if (options_.folder.empty())
    why_memory_only_ = options_.why_none;
  else
    why_memory_only_ = prepare_folder(options_.folder);
}

std::string DiskStore::entry_folder(const std::string& key) const {
  return options_.folder + "/" + key;
}

std::optional<Entry> DiskStore::find(const Digest& key) const {
  const std::string name = hex(key);
  for (const std::string& layer : options_.read_only)
    if (ReadEntry read = read_entry((fs::path(layer) / name).string()); read.entry)
      return std::move(read.entry);
  if (!why_memory_only_.empty()) return std::nullopt;
  const std::string folder = entry_folder(name);
  ReadEntry read = read_entry(folder);
  std::error_code ignored;
  if (read.fault == ReadFault::kDamaged) fs::remove_all(folder, ignored);
  // The time of last use is what the sweep goes by.
  if (read.entry) ::utimensat(AT_FDCWD, (folder + "/meta.txt").c_str(), nullptr, 0);
  return std::move(read.entry);
}

std::pair<Entry, bool> DiskStore::get(const Digest& key, const std::function<Entry()>& make) {
  if (std::optional<Entry> entry = find(key)) return {std::move(*entry), true};
  if (!why_memory_only_.empty()) return {make(), false};
  std::error_code ignored;
  fs::create_directory(options_.folder + "/locks", ignored);
  const KeyLock lock(options_.folder + "/locks/" + hex(key));
  if (std::optional<Entry> entry = find(key)) return {std::move(*entry), true};
  Entry entry = make();
  publish(key, entry);
  sweep_hourly();
  return {std::move(entry), false};
}

void DiskStore::publish(const Digest& key, const Entry& entry) {
  std::error_code error;
  const std::string scratch = options_.folder + "/tmp/" + unique_name();
  fs::create_directories(scratch, error);
  if (error) return;
  const bool written = !write_entry(scratch, entry).has_value();
  // Somebody else's entry of the same key is as good: the rename fails and ours goes.
  const bool moved = written && ::rename(scratch.c_str(), entry_folder(hex(key)).c_str()) == 0;
  if (!moved) fs::remove_all(scratch, error);
}

std::vector<EntryInfo> DiskStore::list() const {
  std::vector<EntryInfo> entries;
  std::error_code error;
  for (fs::directory_iterator folder(options_.folder, error), end; !error && folder != end;
       folder.increment(error)) {
    const std::string key = folder->path().filename().string();
    if (!is_key(key)) continue;
    const ReadEntry read = read_entry(folder->path().string());
    EntryInfo info{.key = key,
                   .kernel_name = {},
                   .toolchain = {},
                   .entry_points = {},
                   .bytes = folder_bytes(folder->path().string()),
                   .last_used = modified(folder->path().string() + "/meta.txt"),
                   .damaged = !read.entry};
    if (read.entry) info.kernel_name = read.entry->kernel_name;
    if (read.entry) info.toolchain = read.entry->toolchain;
    if (read.entry) info.entry_points = read.entry->entry_points;
    entries.push_back(std::move(info));
  }
  std::sort(entries.begin(), entries.end(),
            [](const EntryInfo& a, const EntryInfo& b) { return a.last_used > b.last_used; });
  return entries;
}

std::optional<Entry> DiskStore::find_prefix(const std::string& prefix) const {
  std::optional<Entry> found;
  if (prefix.empty()) return found;
  for (const EntryInfo& info : list()) {
    if (!info.key.starts_with(prefix)) continue;
    if (found) return std::nullopt;
    found = read_entry(entry_folder(info.key)).entry;
  }
  return found;
}

std::int64_t DiskStore::clear() {
  std::int64_t removed = 0;
  std::error_code error;
  for (const EntryInfo& entry : list())
    if (fs::remove_all(entry_folder(entry.key), error) > 0 && !error) ++removed;
  fs::remove_all(options_.folder + "/tmp", error);
  fs::remove_all(options_.folder + "/locks", error);
  return removed;
}

void DiskStore::sweep() {
  std::vector<EntryInfo> entries = list();
  std::uint64_t bytes = 0;
  for (const EntryInfo& entry : entries) bytes += entry.bytes;
  if (bytes <= options_.limit_bytes) return;
  std::error_code error;
  for (auto oldest = entries.rbegin();
       oldest != entries.rend() && bytes > options_.limit_bytes / 5 * 4; ++oldest) {
    fs::remove_all(entry_folder(oldest->key), error);
    bytes -= oldest->bytes;
  }
}

void DiskStore::sweep_hourly() {
  const std::string stamp = options_.folder + "/swept";
  if (std::time(nullptr) - modified(stamp) < kSweepSeconds) return;
  const int file = ::open(stamp.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  ::futimens(file, nullptr);
  ::close(file);
  sweep();
}

DiskOptions user_cache(const std::string& chosen, const std::string& xdg_cache_home,
                       const std::string& home) {
  DiskOptions options;
  if (chosen == "none")
    options.why_none = "the cache is switched off";
  else if (!chosen.empty())
    options.folder = chosen;
  else if (!xdg_cache_home.empty() && xdg_cache_home.front() == '/')
    options.folder = xdg_cache_home + "/tilewright";
  else if (!home.empty() && home.front() == '/')
    options.folder = home + "/.cache/tilewright";
  else
    options.why_none = "neither HOME nor XDG_CACHE_HOME names a folder";
  return options;
}

}  // namespace tilewright::cache
