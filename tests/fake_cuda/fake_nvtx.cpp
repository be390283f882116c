// Stands in for libnvToolsExt: remembers the ranges of the thread.
#include <string>
#include <vector>

namespace {

struct Ranges {
  std::vector<std::string> open;
  std::vector<std::string> seen;
};

Ranges& ranges() {
  static Ranges all;
  return all;
}

}  // namespace

extern "C" {

int nvtxRangePushA(const char* name) {
  ranges().open.emplace_back(name);
  ranges().seen.emplace_back(name);
  return static_cast<int>(ranges().open.size()) - 1;
}
int nvtxRangePop() {
  ranges().open.pop_back();
  return static_cast<int>(ranges().open.size());
}
int fake_nvtx_open() { return static_cast<int>(ranges().open.size()); }
const char* fake_nvtx_last() { return ranges().seen.empty() ? "" : ranges().seen.back().c_str(); }

}  // extern "C"
