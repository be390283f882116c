#include "attention_inputs.h"

#include <optional>

#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

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

}  // namespace

void add_input_options(CLI::App& app, InputOptions& options, bool with_files) {
  const auto count = CLI::Range(std::int64_t{0}, std::int64_t{1} << 40);
  const std::string group = "Inputs";
  if (with_files) {
    app.add_option("--input", options.file,
                   "safetensors with query, key, value; mods may read its other tensors by name")
        ->type_name("FILE")
        ->group(group);
    app.add_option("--query", options.query, "[B, Hq, Q, E]")
        ->type_name("FILE[:TENSOR]")
        ->group(group);
    app.add_option("--key", options.key, "[B or 1, Hkv, KV, E]")
        ->type_name("FILE[:TENSOR]")
        ->group(group);
    app.add_option("--value", options.value, "[B or 1, Hkv, KV, Ev]")
        ->type_name("FILE[:TENSOR]")
        ->group(group);
    app.add_flag("--random", options.random, "standard normal tensors of the sizes below")
        ->group(group);
  }
  app.add_option("--batch", options.batch, "batch entries")->check(count)->group(group);
  app.add_option("--heads", options.heads, "query heads")->check(count)->group(group);
  app.add_option("--kv-heads", options.kv_heads, "key and value heads; 0: as many as query heads")
      ->check(count)
      ->group(group);
  app.add_option("--q", options.q_len, "query tokens")->check(count)->group(group);
  app.add_option("--kv", options.kv_len, "key tokens; 0: as many as query tokens")
      ->check(count)
      ->group(group);
  app.add_option("--dim", options.head_dim, "head dim E")->check(count)->group(group);
  app.add_option("--value-dim", options.value_dim, "value dim Ev; 0: E")
      ->check(count)
      ->group(group);
  app.add_option("--dtype", options.dtype, "dtype; tensors from files are converted to it")
      ->check(CLI::IsMember({"f64", "f32", "f16", "bf16"}))
      ->group(group);
  app.add_option("--seed", options.seed, "seed of random tensors")->group(group);
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
