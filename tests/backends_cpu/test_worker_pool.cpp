#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "backends/cpu/worker_pool.h"

namespace tilewright::cpu {
namespace {

constexpr int kThreads = 4;
const HostServices kNoHost;

/// How often each item was met.
std::vector<int> meetings(const WorkerPool& pool, std::int64_t count) {
  std::vector<std::atomic<int>> met(static_cast<std::size_t>(count));
  pool.run(count, kNoHost, [&](std::int64_t i) { ++met.at(static_cast<std::size_t>(i)); });
  return {met.begin(), met.end()};
}

std::vector<int> once(std::int64_t count) {
  return std::vector<int>(static_cast<std::size_t>(count), 1);
}

TEST(WorkerPool, MeetsEachItemOnce) {
  for (const int threads : {1, 2, kThreads}) {
    const WorkerPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 3, 5, 1000})
      EXPECT_EQ(meetings(pool, count), once(count)) << threads << " threads";
  }
}

TEST(WorkerPool, WhatItemsWroteIsSeenAfterwards) {
  const WorkerPool pool(kThreads);
  std::vector<std::int64_t> squares(500);
  for (int round = 0; round < 20; ++round) {
    pool.run(500, kNoHost, [&](std::int64_t i) { squares[static_cast<std::size_t>(i)] += i * i; });
    for (std::int64_t i = 0; i < 500; ++i)
      ASSERT_EQ(squares[static_cast<std::size_t>(i)], (round + 1) * i * i);
  }
}

TEST(WorkerPool, ExceptionsReachTheCaller) {
  const WorkerPool pool(kThreads);
  for (const std::int64_t count : {1, 2, 100}) {
    const auto throw_at_last = [&](std::int64_t i) {
      if (i == count - 1) throw std::runtime_error("item " + std::to_string(i));
    };
    try {
      pool.run(count, kNoHost, throw_at_last);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "item " + std::to_string(count - 1));
    }
    EXPECT_EQ(meetings(pool, count), once(count));
  }
}

TEST(WorkerPool, OfManyExceptionsOneReachesTheCaller) {
  const WorkerPool pool(kThreads);
  EXPECT_THROW(
      pool.run(100, kNoHost, [](std::int64_t) { throw std::runtime_error("each of them"); }),
      std::runtime_error);
}

TEST(WorkerPool, ItemsMayRunLoopsOfTheirOwn) {
  const WorkerPool pool(kThreads);
  std::atomic<int> met{0};
  pool.run(10, kNoHost, [&](std::int64_t) { pool.run(20, kNoHost, [&](std::int64_t) { ++met; }); });
  EXPECT_EQ(met.load(), 200);
}

TEST(WorkerPool, ServesManyCallersAtOnce) {
  const WorkerPool pool(kThreads);
  std::atomic<int> right{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) right += meetings(pool, 50) == once(50) ? 1 : 0;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right.load(), 160);
}

TEST(WorkerPool, LendsLoopsToTheHost) {
  const WorkerPool pool(kThreads);
  HostServices host;
  std::int64_t lent = 0;
  host.parallel_for = [&](std::int64_t count, const std::function<void(std::int64_t)>& body) {
    lent += count;
    for (std::int64_t i = count; i-- > 0;) body(i);
  };
  std::vector<std::int64_t> order;
  pool.run(3, host, [&](std::int64_t i) { order.push_back(i); });
  EXPECT_EQ(lent, 3);
  EXPECT_EQ(order, (std::vector<std::int64_t>{2, 1, 0}));
}

/// 0 where a child may run loops and drop the pool.
int use_in_child(std::unique_ptr<WorkerPool> pool) {
  const std::thread::id caller = std::this_thread::get_id();
  int elsewhere = 0;
  std::vector<int> met(10);
  pool->run(10, kNoHost, [&](std::int64_t i) {
    elsewhere += std::this_thread::get_id() == caller ? 0 : 1;
    ++met[static_cast<std::size_t>(i)];
  });
  pool.reset();
  return met == once(10) && elsewhere == 0 ? 0 : 1;
}

TEST(WorkerPool, AForkedChildRunsLoopsOnItsOwnThread) {
  auto pool = std::make_unique<WorkerPool>(kThreads);
  EXPECT_EQ(meetings(*pool, 100), once(100));
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(use_in_child(std::move(pool)));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(meetings(*pool, 100), once(100));
}

}  // namespace
}  // namespace tilewright::cpu
