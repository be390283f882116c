#include "program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

extern char** environ;

namespace tilewright::testing {

namespace {

/// A pipe from the program; the write end is closed here once the program has it.
struct Pipe {
  Pipe() {
    if (::pipe(ends.data()) != 0) ends = {-1, -1};
  }
  std::string drain() {
    ::close(ends[1]);
    std::string text;
    std::array<char, 4096> chunk;
    for (ssize_t n; (n = ::read(ends[0], chunk.data(), chunk.size())) > 0;) {
      text.append(chunk.data(), static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    return text;
  }
  std::array<int, 2> ends{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

ProgramRun run_program(const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment) {
  std::vector<std::string> words{TILEWRIGHT_BINARY_DIR "/tilewright"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  for (const int end : {out.ends[0], out.ends[1], err.ends[0], err.ends[1]}) {
    posix_spawn_file_actions_addclose(&actions, end);
  }
  pid_t pid = -1;
  ProgramRun run;
  const int fault = ::posix_spawn(&pid, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                                  pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  std::thread errors([&] { run.err = err.drain(); });
  run.out = out.drain();
  errors.join();
  int status = 0;
  if (fault == 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
    run.exit_code = WEXITSTATUS(status);
  }
  return run;
}

}  // namespace tilewright::testing
