#include "device/case_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace tilewright::device_tests {

namespace {

std::size_t stride_of_cases() {
  const char* const text = std::getenv("TILEWRIGHT_CASES");
  return text == nullptr ? 1 : std::max<std::size_t>(1, std::strtoul(text, nullptr, 10));
}

}  // namespace

void Tally::fail(const std::string& id, const std::string& why) {
  const std::lock_guard lock(mutex);
  failures.push_back(id + ": " + why);
}

void Tally::took(const std::string& kernel) {
  const std::lock_guard lock(mutex);
  ++kernels[kernel];
}

void Tally::report() const {
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
  EXPECT_GT(ran, 0);
  for (const auto& [kernel, calls] : kernels) {
    ::testing::Test::RecordProperty(kernel, calls);
    GTEST_LOG_(INFO) << calls << " calls of " << kernel;
  }
  ::testing::Test::RecordProperty("ran", ran);
  ::testing::Test::RecordProperty("refused", refused);
  GTEST_LOG_(INFO) << ran << " cases ran, " << refused << " were refused as they must, "
                   << failures.size() << " failed";
}

void for_each_case(const std::function<void(const cases::Case&)>& run) {
  const std::vector<cases::Case>& all = cases::all_cases();
  const std::size_t stride = stride_of_cases();
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(stride); i < all.size(); i = next.fetch_add(stride))
      run(all[i]);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tilewright::device_tests
