#pragma once

/// The whole public C++ interface.
#include "tilewright/author.h"
#include "tilewright/backward.h"
#include "tilewright/block_lists.h"
#include "tilewright/catalogue.h"
#include "tilewright/device_mask_map.h"
#include "tilewright/dtype.h"
#include "tilewright/engine.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "tilewright/masks.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"
#include "tilewright/scores.h"
#include "tilewright/table.h"
#include "tilewright/target.h"
#include "tilewright/tensor.h"
