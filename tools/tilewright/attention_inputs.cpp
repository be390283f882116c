#include "attention_inputs.h"

#include <optional>

#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

constexpr const char* kInputGroup = "Inputs";

std::optional<DType> wanted_dtype(const InputOptions& options) {
  if (options.dtype.empty()) return std::nullopt;
  return dtype_from_name(options.dtype);
}

TensorView keep(LoadedInputs& loaded, OwnedTensor tensor) {
  loaded.memory.push_back(tensor);
  return tensor.view;
}

LoadedInputs random_inputs(const InputOptions& options) {
  const DType dtype = wanted_dtype(options).value_or(DType::kF32);
  const std::int64_t kv_heads = options.kv_heads == 0 ? options.heads : options.kv_heads;
  const std::int64_t kv_len = options.kv_len == 0 ? options.q_len : options.kv_len;
  const std::int64_t value_dim = options.value_dim == 0 ? options.head_dim : options.value_dim;
  const auto made = [&](const Dims& shape, std::uint64_t stream) {
    OwnedTensor tensor = make_tensor(dtype, shape);
    fill_normal(tensor.view, options.seed * 4 + stream);
    return tensor;
  };
  LoadedInputs loaded;
  const std::int64_t b = options.batch;
  loaded.views.query = keep(loaded, made({b, options.heads, options.q_len, options.head_dim}, 1));
  loaded.views.key = keep(loaded, made({b, kv_heads, kv_len, options.head_dim}, 2));
  loaded.views.value = keep(loaded, made({b, kv_heads, kv_len, value_dim}, 3));
  return loaded;
}

void require_rank_4(const TensorView& view, const char* name) {
  if (view.rank() == 4) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::string(name) + " has the wrong number of axes",
               .where = name,
               .expected = "4: [batch, heads, tokens, dim]",
               .got = to_string(view.shape),
               .hint = {}});
}

TensorView one_input(const InputOptions& options, OpenFiles& files, const std::string& source,
                     const char* name) {
  const std::string& place = source.empty() ? options.file : source;
  if (!place.empty()) {
    const TensorView view =
        source.empty() ? files.open(place).get(name) : files.tensor(source, name);
    require_rank_4(view, name);
    return view;
  }
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::string("there is no ") + name,
               .where = std::string("--") + name,
               .expected = "--input FILE, --query, --key and --value, or --random",
               .got = {},
               .hint = "tilewright run --help has examples"});
}

void add_file_options(OptionList& list, InputOptions& options) {
  list.add(
      {.name = "--input",
       .target = &options.file,
       .meaning = "safetensors with query, key, value; mods may read its other tensors by name",
       .value_name = "FILE",
       .group = kInputGroup});
  list.add({.name = "--query",
            .target = &options.query,
            .meaning = "[B, Hq, Q, E]",
            .value_name = "FILE[:TENSOR]",
            .group = kInputGroup});
  list.add({.name = "--key",
            .target = &options.key,
            .meaning = "[B or 1, Hkv, KV, E]",
            .value_name = "FILE[:TENSOR]",
            .group = kInputGroup});
  list.add({.name = "--value",
            .target = &options.value,
            .meaning = "[B or 1, Hkv, KV, Ev]",
            .value_name = "FILE[:TENSOR]",
            .group = kInputGroup});
  list.add({.name = "--random",
            .target = &options.random,
            .meaning = "standard normal tensors of the sizes below",
            .group = kInputGroup});
}

}  // namespace

void add_input_options(OptionList& list, InputOptions& options, bool with_files) {
  if (with_files) add_file_options(list, options);
  list.add({.name = "--batch",
            .target = &options.batch,
            .meaning = "batch entries",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--heads",
            .target = &options.heads,
            .meaning = "query heads",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--kv-heads",
            .target = &options.kv_heads,
            .meaning = "key and value heads; 0: as many as query heads",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--q",
            .target = &options.q_len,
            .meaning = "query tokens",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--kv",
            .target = &options.kv_len,
            .meaning = "key tokens; 0: as many as query tokens",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--dim",
            .target = &options.head_dim,
            .meaning = "head dim E",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--value-dim",
            .target = &options.value_dim,
            .meaning = "value dim Ev; 0: E",
            .group = kInputGroup,
            .range = kAnyLength});
  list.add({.name = "--dtype",
            .target = &options.dtype,
            .meaning = "dtype; tensors from files are converted to it",
            .group = kInputGroup,
            .choices = {"f64", "f32", "f16", "bf16"}});
  list.add({.name = "--seed",
            .target = &options.seed,
            .meaning = "seed of random tensors",
            .group = kInputGroup});
}

LoadedInputs load_inputs(const InputOptions& options, OpenFiles& files) {
  if (options.random) return random_inputs(options);
  LoadedInputs loaded;
  loaded.views.query = one_input(options, files, options.query, "query");
  loaded.views.key = one_input(options, files, options.key, "key");
  loaded.views.value = one_input(options, files, options.value, "value");
  if (!options.file.empty()) loaded.file = &files.open(options.file);
  const std::optional<DType> dtype = wanted_dtype(options);
  for (TensorView* view : {&loaded.views.query, &loaded.views.key, &loaded.views.value}) {
    const bool convert = dtype && view->dtype != *dtype && is_floating(view->dtype);
    if (convert) *view = keep(loaded, converted(*view, *dtype));
  }
  return loaded;
}

}  // namespace tilewright::cli
