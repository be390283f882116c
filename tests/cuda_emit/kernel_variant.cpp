#include "cuda_emit/kernel_variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "backends/cuda/hopper_rows.h"
#include "plan/plan.h"
#include "support/entry.h"

namespace tilewright::test {

namespace {

/// Long enough that rows for long sequences come first.
constexpr std::int64_t kTokens = 4096;

cases::Extents extents_of(const VariantLine& line) {
  return {.batch = 1,
          .kv_batch = 1,
          .query_heads = 8,
          .kv_heads = 8,
          .q_len = kTokens,
          .kv_len = kTokens,
          .head_dim = line.head_dim,
          .value_dim = line.value_dim};
}

Problem problem_of_line(const VariantLine& line) {
  Problem problem;
  problem.query_heads = problem.kv_heads = 8;
  problem.q_len = problem.kv_len = kTokens;
  problem.head_dim = line.head_dim;
  problem.value_dim = line.value_dim;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = line.dtype;
  problem.outputs.max_scores = line.has("max");
  return problem;
}

Program program_of(const VariantLine& line, cases::EntryContext& context) {
  for (const cases::Entry& entry : cases::entries())
    if (entry.name == line.program) return entry.make(context);
  throw std::runtime_error("no entry named " + line.program);
}

backends::Variant variant_of(const VariantLine& line, const Program& program,
                             const Problem& problem) {
  const auto facts = analyse::binding_facts(program.structure(), program.bindings(), problem);
  return {.fits_int32 = facts.fits_int32 && !line.has("wide"),
          .checked = !(facts.subscripts_in_range && facts.divisors_nonzero),
          .fast_functions = line.has("fast")};
}

/// Fails to compile where the kernel's own layout differs from the planner's.
std::string portable_assertions(const cuda::KernelRow& row, const Problem& problem) {
  return fmt::format(
      "namespace tilewright::cuda {{\n"
      "using PlannedLayout = PortableLayout<EmittedVariant>;\n"
      "static_assert(PlannedLayout::kBytes == {});\n"
      "static_assert(PlannedLayout::kThreads == {});\n"
      "static_assert(PlannedLayout::kQueryTile == {});\n"
      "}}  // namespace tilewright::cuda\n",
      cuda::shared_bytes(row, problem), row.threads, row.q_rows);
}

std::string hopper_assertions(const cuda::KernelRow& row, const Problem& problem) {
  const cuda::RegisterPlan registers = cuda::hopper_registers(row, problem);
  return fmt::format(
      "namespace tilewright::cuda {{\n"
      "using PlannedLayout = ForwardLayout<EmittedVariant>;\n"
      "static_assert(PlannedLayout::kBytes == {});\n"
      "static_assert(PlannedLayout::kThreads == {});\n"
      "static_assert(PlannedLayout::kConsumerRegisters == {});\n"
      "static_assert(PlannedLayout::kProducerRegisters == {});\n"
      "}}  // namespace tilewright::cuda\n",
      cuda::shared_bytes(row, problem), row.threads, registers.consumer, registers.producer);
}

std::optional<cuda::KernelRow> find_row(const VariantLine& line, const Program& program,
                                        const analyse::StructureFacts& facts,
                                        const Problem& problem) {
  const cuda::DeviceFacts device = device_of(line);
  const bool wants_hopper =
      line.demand == "long" || line.demand == "short" || line.demand == "listed";
  cuda::RowQuestion question{.program = program.structure(),
                             .facts = facts,
                             .problem = problem,
                             .device = device,
                             .any_layout = line.demand == "any_layout",
                             .block_lists = line.demand == "lists" || line.demand == "listed",
                             .fast_functions = line.has("fast")};
  if (line.demand == "short") question.lengths = cuda::LengthClass::kShort;
  if (line.demand == "decode") question.lengths = cuda::LengthClass::kDecode;
  for (cuda::Candidate& candidate : cuda::candidates(question)) {
    const bool is_hopper = candidate.row.family == cuda::Family::kHopper;
    if (candidate.rejection.empty() && is_hopper == wants_hopper) return std::move(candidate.row);
  }
  return {};
}

}  // namespace

bool VariantLine::has(const std::string& option) const {
  return std::ranges::find(options, option) != options.end();
}

int VariantLine::allowed_spill_bytes() const {
  for (const std::string& option : options)
    if (option.starts_with("spills")) return std::stoi(option.substr(6));
  return 0;
}

std::string VariantLine::text() const {
  std::string all = fmt::format("{} {} {} {} {} sm_{}", demand, head_dim, value_dim,
                                tilewright::name(dtype), program, architecture);
  for (const std::string& option : options)
    if (!option.starts_with("spills")) all += " " + option;
  return all;
}

bool is_served(const VariantLine& line) {
  cases::EntryContext context(extents_of(line), 11);
  const Program program = program_of(line, context);
  const Problem problem = problem_of_line(line);
  return find_row(line, program, analyse::structure_facts(program.structure()), problem)
      .has_value();
}

cuda::DeviceFacts device_of(const VariantLine& line) {
  cuda::DeviceFacts device;
  device.major = line.architecture / 10;
  device.minor = line.architecture % 10;
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  const std::int64_t kib = device.minor == 9 || device.major == 12 ? 100
                           : device.major == 8                     ? 164
                                                                   : 228;
  device.multiprocessor_shared_bytes = kib * 1024;
  device.block_shared_bytes = (kib - 1) * 1024;
  return device;
}

std::vector<VariantLine> read_variant_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<VariantLine> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text.front() == '#') continue;
    std::istringstream words(text);
    VariantLine line;
    std::string dtype;
    words >> line.demand >> line.head_dim >> line.value_dim >> dtype >> line.program;
    for (std::string word; words >> word;) {
      if (word.starts_with("sm_"))
        line.architecture = std::stoi(word.substr(3));
      else if (word != "-")
        line.options.push_back(word);
    }
    const auto parsed = dtype_from_name(dtype);
    if (!parsed || line.program.empty()) throw std::runtime_error("cannot read: " + text);
    line.dtype = *parsed;
    lines.push_back(std::move(line));
  }
  if (lines.empty()) throw std::runtime_error("no variants in " + path);
  return lines;
}

PlannedKernel planned_kernel(const VariantLine& line) {
  cases::EntryContext context(extents_of(line), 11);
  const Program program = program_of(line, context);
  const Problem problem = problem_of_line(line);
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  const plan::Plan plan;
  PlannedKernel kernel;
  const std::optional<cuda::KernelRow> row = find_row(line, program, facts, problem);
  if (!row) throw std::runtime_error("no row serves " + line.text());
  kernel.row = *row;
  kernel.source = cuda::emit_forward({.program = program.structure(),
                                      .facts = facts,
                                      .plan = plan,
                                      .problem = problem,
                                      .variant = variant_of(line, program, problem)},
                                     kernel.row);
  kernel.source.text += "\n" + (kernel.row.family == cuda::Family::kHopper
                                    ? hopper_assertions(kernel.row, problem)
                                    : portable_assertions(kernel.row, problem));
  return kernel;
}

}  // namespace tilewright::test
