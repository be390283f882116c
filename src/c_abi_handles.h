#pragma once

#include "tilewright/c.h"
#include "tilewright/device_mask_map.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"

// What the handles of c.h are.
struct tw_engine {
  tilewright::Engine engine;
};
struct tw_program {
  tilewright::Program program;
};
struct tw_attention {
  tilewright::Attention attention;
};
struct tw_mask_map {
  tilewright::MaskMap map;
};
struct tw_device_mask_map {
  tilewright::DeviceMaskMap map;
};
