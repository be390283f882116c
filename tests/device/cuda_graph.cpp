#include "device/cuda_graph.h"

#include "base/check.h"

namespace tilewright::device_tests {

namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
constexpr int kGlobalMode = 0;        // CU_STREAM_CAPTURE_MODE_GLOBAL

cuda::Gpu& gpu() { return *machine().gpus.front(); }

void check(int status, const char* function) {
  gpu().driver().check(status, function, "a test's stream or graph");
}

}  // namespace

Stream::Stream() {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  check(gpu().driver().stream_create(&handle_, kNonBlocking), "cuStreamCreate");
}
Stream::~Stream() {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  gpu().driver().stream_destroy(handle_);
}
void Stream::synchronise() const {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  check(gpu().driver().stream_synchronize(handle_), "cuStreamSynchronize");
}

const Graph::Table& Graph::table() {
  static const Table functions = [] {
    std::string why;
    const auto library = cuda::DynamicLibrary::open("libcuda.so.1", why);
    TILEWRIGHT_CHECK(library.has_value());
    Table found{};
    const bool all = library->resolve("cuStreamBeginCapture_v2", found.begin) &&
                     library->resolve("cuStreamEndCapture", found.end) &&
                     library->resolve("cuGraphInstantiateWithFlags", found.instantiate) &&
                     library->resolve("cuGraphLaunch", found.launch) &&
                     library->resolve("cuGraphDestroy", found.destroy) &&
                     library->resolve("cuGraphExecDestroy", found.destroy_executable);
    TILEWRIGHT_CHECK(all);
    return found;
  }();
  return functions;
}

Graph::Graph(const Stream& stream, const std::function<void()>& work) {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  check(table().begin(stream.handle(), kGlobalMode), "cuStreamBeginCapture");
  work();
  check(table().end(stream.handle(), &graph_), "cuStreamEndCapture");
  check(table().instantiate(&executable_, graph_, 0), "cuGraphInstantiateWithFlags");
}

Graph::~Graph() {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  table().destroy_executable(executable_);
  table().destroy(graph_);
}

void Graph::replay(const Stream& stream) const {
  const cuda::ContextScope scope(gpu().driver(), gpu().context());
  check(table().launch(executable_, stream.handle()), "cuGraphLaunch");
}

}  // namespace tilewright::device_tests
