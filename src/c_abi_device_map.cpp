// Mask maps in the memory of a device, in the C interface.
#include "c_abi_guard.h"
#include "c_abi_handles.h"
#include "c_abi_structs.h"

using namespace tilewright::c_abi;  // NOLINT: this file is the interface itself

tw_status tw_device_mask_map_bytes(const tw_program* program,
                                   const tw_device_mask_map_options* options, size_t* bytes) {
  return guard([&] {
    required(bytes, "bytes") = tilewright::DeviceMaskMap::bytes_for(
        required(program, "program").program, options_of(sized_copy(options, "options")));
  });
}

tw_status tw_device_mask_map_create(const tw_program* program,
                                    const tw_device_mask_map_options* options,
                                    const tw_tensor* memory, tw_device_mask_map** map) {
  return guard([&] {
    required(map, "map") = nullptr;
    *map = new tw_device_mask_map{{required(program, "program").program,
                                   options_of(sized_copy(options, "options")),
                                   view_of(required(memory, "memory"), "memory")}};
  });
}

void tw_device_mask_map_destroy(tw_device_mask_map* map) { delete map; }

tw_status tw_device_mask_map_build(tw_engine* engine, const tw_device_mask_map* map,
                                   const tw_problem* problem, void* stream) {
  return guard([&] {
    required(engine, "engine")
        .engine.build_mask_map(required(map, "map").map, problem_of(sized_copy(problem, "problem")),
                               stream);
  });
}
