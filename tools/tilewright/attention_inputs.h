#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.h"
#include "owned_tensor.h"
#include "tensor_source.h"
#include "tilewright/engine.h"

namespace tilewright::cli {

/// The options by which a verb takes query, key and value.
struct InputOptions {
  std::string file;  ///< safetensors with query, key, value and what mods read
  std::string query, key, value;
  bool random = false;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  ///< 0: heads
  std::int64_t q_len = 0;
  std::int64_t kv_len = 0;  ///< 0: q_len
  std::int64_t head_dim = 64;
  std::int64_t value_dim = 0;  ///< 0: head_dim
  std::string dtype;           ///< "": as stored; f32 for random ones
  std::uint64_t seed = 1;
};

/// `with_files`: the verb also takes tensors from files.
void add_input_options(OptionList& list, InputOptions& options, bool with_files);

/// query, key and value, with the memory that they need.
struct LoadedInputs {
  ForwardInputs views;
  const io::TensorFile* file = nullptr;  ///< the --input file, whose other tensors mods may read
  std::vector<OwnedTensor> memory;
};

LoadedInputs load_inputs(const InputOptions& options, OpenFiles& files);

}  // namespace tilewright::cli
