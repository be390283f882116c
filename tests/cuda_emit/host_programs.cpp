#include "cuda_emit/host_programs.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "base/element.h"
#include "support/scratch_folder.h"
#include "support/tensor.h"

namespace tilewright::test {

namespace {

struct IntegerCell {
  std::int64_t low, high;
};
struct RealCell {
  float low, high;
};

template <class Cell>
void put_cell(std::vector<std::byte>& cells, std::int64_t at, const Cell& cell) {
  std::memcpy(cells.data() + static_cast<std::size_t>(at) * sizeof cell, &cell, sizeof cell);
}

/// Element offsets of the entries of a line, lines row-major over the other axes.
std::vector<std::int64_t> line_offsets(const TensorView& view, std::size_t axis) {
  Dims others = view.shape;
  others[axis] = 1;
  std::vector<std::int64_t> offsets;
  cases::for_each_index(others,
                        [&](const Dims& at) { offsets.push_back(cases::offset_of(view, at)); });
  return offsets;
}

template <class Cell, class Value, class Read>
void fill_level(std::vector<std::byte>& cells, std::int64_t first_cell, std::int64_t width,
                std::int64_t extent, const Read& read) {
  for (std::int64_t begin = 0, cell = first_cell; begin < extent; begin += width, ++cell) {
    Cell range{read(begin), read(begin)};
    for (std::int64_t i = begin; i < std::min(begin + width, extent); ++i) {
      const Value value = read(i);
      range.low = std::min<Value>(range.low, value);
      range.high = std::max<Value>(range.high, value);
    }
    put_cell(cells, cell, range);
  }
}

std::vector<std::byte> pyramid_cells(const TensorView& view, std::size_t axis) {
  const cuda::PyramidShape shape = cuda::pyramid_shape(view, static_cast<std::uint32_t>(axis));
  std::vector<std::byte> cells(
      static_cast<std::size_t>(shape.cells * cuda::PyramidShape::kCellBytes));
  std::int64_t level_begin = 0;
  for (int level = 0; level < shape.levels; ++level) {
    const std::int64_t count = cuda::PyramidShape::line_cells(shape.extent, level);
    std::int64_t line = 0;
    for (const std::int64_t offset : line_offsets(view, axis)) {
      const std::int64_t stride = view.shape[axis] > 1 ? view.strides[axis] : 0;
      const std::int64_t first = level_begin + count * line++;
      const std::int64_t width = std::int64_t{32} << level;
      if (is_floating(view.dtype))
        fill_level<RealCell, float>(cells, first, width, shape.extent, [&](std::int64_t i) {
          return static_cast<float>(read_real(view, offset + i * stride));
        });
      else
        fill_level<IntegerCell, std::int64_t>(
            cells, first, width, shape.extent,
            [&](std::int64_t i) { return read_integer(view, offset + i * stride); });
    }
    level_begin += count * shape.lines;
  }
  return cells;
}

constexpr const char* kProgramText = R"(
namespace tilewright::cuda::program_{0} {{
{1}
}}
extern "C" void pairs_{0}(const void* block, const void* queries, void* results, int count) {{
  using namespace tilewright::cuda;
  run_pairs<program_{0}::EmittedMods>(block, static_cast<const PairQuery*>(queries),
                                      static_cast<PairResult*>(results), count);
}}
extern "C" void classes_{0}(const void* block, const void* queries, void* classes, int count) {{
  using namespace tilewright::cuda;
  run_tiles<program_{0}::EmittedMods>(block, static_cast<const TileQuery*>(queries),
                                      static_cast<i32*>(classes), count);
}}
)";

constexpr const char* kDerivativeText = R"(
namespace tilewright::cuda::program_{0} {{
{1}
{2}
}}
extern "C" void derivatives_{0}(const void* block, const void* queries, void* results, int count) {{
  using namespace tilewright::cuda;
  run_derivatives<program_{0}::EmittedMods, program_{0}::EmittedGradient, {3}>(
      block, static_cast<const PairQuery*>(queries), static_cast<DerivativeResult*>(results), count);
}}
)";

}  // namespace

HostBlock::HostBlock(const ir::Program& program, const ir::Bindings& bindings,
                     const Problem& problem, std::span<const cuda::PyramidRequest> pyramids)
    : fault_(std::make_unique<FaultRecord>()) {
  const cuda::BlockLayout layout(program, pyramids);
  std::vector<cuda::PyramidBinding> built;
  for (const cuda::PyramidRequest& request : pyramids) {
    const TensorView& view = bindings.captures[request.capture];
    cells_.push_back(pyramid_cells(view, request.axis));
    built.push_back({.cells = cells_.back().empty() ? nullptr : cells_.back().data(),
                     .shape = cuda::pyramid_shape(view, request.axis)});
  }
  block_.resize(layout.bytes());
  cuda::pack(layout,
             {.program = program,
              .bindings = bindings,
              .problem = problem,
              .error = fault_.get(),
              .pyramids = built},
             block_);
}

std::size_t HostPrograms::add(const cuda::ModsText& mods) {
  text_ += fmt::format(kProgramText, count_, mods.text);
  if (!mods.gradient.empty())
    text_ +=
        fmt::format(kDerivativeText, count_, mods.gradient, mods.captured,
                    mods.captured.empty() ? std::string("NoCaptures")
                                          : fmt::format("program_{}::EmittedCaptures", count_));
  return count_++;
}

void HostPrograms::build() {
  const testing::ScratchFolder folder;
  const std::string source = folder.write("mods.cpp", "#include \"run_mods.h\"\n" + text_);
  const std::string root = TILEWRIGHT_SOURCE_DIR;
  const std::string host = root + "/tests/cuda_emit/host";
  const std::string log = folder.file("log"), library = folder.file("mods.so");
  const std::string command = fmt::format(
      "{} -std=c++20 -O0 -w -fPIC -shared -fwrapv -ffp-contract=off -include {}/cuda_on_host.h "
      "-I{} -I{}/kernels/cuda -I{}/src {} -o {} > {} 2>&1",
      TILEWRIGHT_HOST_CXX, host, host, root, root, source, library, log);
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error(command + "\n" + testing::ScratchFolder::read(log).substr(0, 4000));
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
}

HostPrograms::~HostPrograms() {
  if (library_ != nullptr) dlclose(library_);
}

void* HostPrograms::symbol(const char* name, std::size_t program) const {
  void* found = dlsym(library_, (name + std::to_string(program)).c_str());
  if (found == nullptr) throw std::runtime_error(dlerror());
  return found;
}

using Entry = void (*)(const void*, const void*, void*, int);

std::vector<PairResult> HostPrograms::pairs(std::size_t program, const HostBlock& block,
                                            std::span<const PairQuery> queries) const {
  std::vector<PairResult> results(queries.size());
  reinterpret_cast<Entry>(symbol("pairs_", program))(block.data(), queries.data(), results.data(),
                                                     static_cast<int>(queries.size()));
  return results;
}

std::vector<DerivativeResult> HostPrograms::derivatives(std::size_t program, const HostBlock& block,
                                                        std::span<const PairQuery> queries) const {
  std::vector<DerivativeResult> results(queries.size());
  reinterpret_cast<Entry>(symbol("derivatives_", program))(
      block.data(), queries.data(), results.data(), static_cast<int>(queries.size()));
  return results;
}

std::vector<std::int32_t> HostPrograms::classes(std::size_t program, const HostBlock& block,
                                                std::span<const TileQuery> queries) const {
  std::vector<std::int32_t> classes(queries.size());
  reinterpret_cast<Entry>(symbol("classes_", program))(block.data(), queries.data(), classes.data(),
                                                       static_cast<int>(queries.size()));
  return classes;
}

}  // namespace tilewright::test
