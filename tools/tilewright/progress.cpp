#include "progress.h"

#include <cstdio>
#include <utility>

#include "base/formatted.h"
#include "console.h"

namespace tilewright::cli {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);

void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string label, std::int64_t total)
    : label_(std::move(label)),
      total_(total),
      shown_(is_terminal_error()),
      next_(std::chrono::steady_clock::now() + kInterval) {}

Progress::~Progress() {
  if (shown_) write_error("\r\x1b[K");
}

void Progress::step() {
  ++done_;
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now < next_) return;
  next_ = now + kInterval;
  write_error(formatted("\r{} {}/{}\x1b[K", label_, done_, total_));
}

}  // namespace tilewright::cli
