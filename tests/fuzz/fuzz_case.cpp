#include "fuzz/fuzz_case.h"

#include <array>
#include <charconv>
#include <stdexcept>

namespace tilewright::cases {

namespace {

struct Field {
  std::string_view name;
  std::int64_t Extents::* member;
};

constexpr std::array kFields = {
    Field{"batch", &Extents::batch},       Field{"kvbatch", &Extents::kv_batch},
    Field{"heads", &Extents::query_heads}, Field{"kvheads", &Extents::kv_heads},
    Field{"q", &Extents::q_len},           Field{"kv", &Extents::kv_len},
    Field{"e", &Extents::head_dim},        Field{"ev", &Extents::value_dim},
};

std::int64_t random_length(Random& random) {
  if (random.chance(0.1)) return random.between(0, 2);
  if (random.chance(0.15)) return random.between(255, 420);
  return random.between(1, 150);
}

std::int64_t random_dim(Random& random) {
  return random.chance(0.2) ? random.between(65, 200) : random.between(1, 64);
}

std::int64_t to_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("no integer: " + std::string(text));
  return value;
}

void add_pruned(FuzzCase& problem, std::string_view paths) {
  while (!paths.empty()) {
    const std::string_view path = paths.substr(0, paths.find('+'));
    problem.pruned.emplace(path);
    paths.remove_prefix(std::min(paths.size(), path.size() + 1));
  }
}

void apply(FuzzCase& problem, std::string_view name_of_field, std::string_view value) {
  if (name_of_field == "prune") return add_pruned(problem, value);
  if (name_of_field == "dtype") {
    problem.dtype = dtype_from_name(value).value();
    return;
  }
  if (name_of_field == "layout") {
    for (const Layout layout : kLayouts)
      if (name(layout) == value) problem.layout = layout;
    return;
  }
  for (const Field& field : kFields)
    if (field.name == name_of_field) {
      problem.extents.*field.member = to_integer(value);
      return;
    }
  throw std::invalid_argument("no such field: " + std::string(name_of_field));
}

}  // namespace

FuzzCase FuzzCase::from_seed(std::uint64_t seed) {
  Random random(seed);
  FuzzCase problem;
  problem.seed = seed;
  Extents& e = problem.extents;
  e.batch = random.between(1, 3);
  e.kv_batch = random.chance(0.3) ? 1 : e.batch;
  e.kv_heads = random.between(1, 2);
  e.query_heads = e.kv_heads * random.between(1, random.chance(0.3) ? 8 : 2);
  e.q_len = random.chance(0.15) ? 1 : random_length(random);
  e.kv_len = random_length(random);
  e.head_dim = random_dim(random);
  e.value_dim = random.chance(0.5) ? e.head_dim : random_dim(random);
  constexpr std::array kDtypes = {DType::kF32, DType::kF32, DType::kBF16, DType::kF16, DType::kF64};
  Random of_program(problem.program_seed() + 76);
  problem.dtype = kDtypes[static_cast<std::size_t>(of_program.between(0, 4))];
  if (random.chance(0.4)) problem.layout = kLayouts[random.between(0, std::size(kLayouts) - 1)];
  return problem;
}

FuzzCase FuzzCase::parse(std::string_view spec) {
  const std::string_view seed = spec.substr(0, spec.find(':'));
  FuzzCase problem = from_seed(static_cast<std::uint64_t>(to_integer(seed)));
  spec.remove_prefix(std::min(spec.size(), seed.size() + 1));
  while (!spec.empty()) {
    const std::string_view item = spec.substr(0, spec.find(','));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      throw std::invalid_argument("no field: " + std::string(item));
    apply(problem, item.substr(0, equals), item.substr(equals + 1));
    spec.remove_prefix(std::min(spec.size(), item.size() + 1));
  }
  return problem;
}

std::string FuzzCase::spec() const {
  const FuzzCase plain = from_seed(seed);
  std::string items;
  const auto add = [&](std::string_view field, std::string_view value) {
    items += (items.empty() ? "" : ",") + std::string(field) + "=" + std::string(value);
  };
  for (const Field& field : kFields)
    if (extents.*field.member != plain.extents.*field.member)
      add(field.name, std::to_string(extents.*field.member));
  if (dtype != plain.dtype) add("dtype", name(dtype));
  if (layout != plain.layout) add("layout", name(layout));
  std::string paths;
  for (const std::string& path : pruned) paths += (paths.empty() ? "" : "+") + path;
  if (!paths.empty()) add("prune", paths);
  return std::to_string(seed) + ":" + items;
}

}  // namespace tilewright::cases
