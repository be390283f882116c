#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "ir/interpret.h"
#include "tilewright/block_lists.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"

namespace tilewright::python {

namespace {

/// A map and the program whose captured tensors it reads.
struct OwnedMap {
  MaskMap map;
  std::vector<nb::object> owners;
};

MaskMapOptions map_options_from(const nb::dict& fields) {
  MaskMapOptions options;
  const auto read = [&](const char* name, std::int64_t& field) {
    if (fields.contains(name)) field = nb::cast<std::int64_t>(fields[name]);
  };
  read("batch", options.batch);
  read("heads", options.heads);
  read("q_len", options.q_len);
  read("kv_len", options.kv_len);
  read("q_base", options.q_base);
  read("kv_base", options.kv_base);
  read("q_block", options.q_block);
  const auto flag = [&](const char* name) {
    return fields.contains(name) && nb::cast<bool>(fields[name]);
  };
  options.broadcast_batch = flag("broadcast_batch");
  options.broadcast_heads = flag("broadcast_heads");
  return options;
}

OwnedMap build(const OwnedProgram& program, const nb::dict& fields) {
  const MaskMapOptions options = map_options_from(fields);
  std::vector<nb::object> owners = program.owners;
  const auto built = [&] {
    const nb::gil_scoped_release released;
    return MaskMap::build(program.program, options);
  };
  return {.map = built(), .owners = std::move(owners)};
}

OwnedMap from_lists(const BlockLists& lists) {
  return {.map = MaskMap::from_block_lists(lists), .owners = {}};
}

/// The arrays of block lists as numpy arrays that own their memory.
nb::object array_of(std::vector<std::int32_t>& values, const Dims& shape) {
  auto* kept = new std::vector<std::int32_t>(std::move(values));
  const nb::capsule owner(
      kept, [](void* memory) noexcept { delete static_cast<std::vector<std::int32_t>*>(memory); });
  std::vector<std::size_t> extents(shape.begin(), shape.end());
  return nb::cast(
      nb::ndarray<nb::numpy, std::int32_t>(kept->data(), extents.size(), extents.data(), owner));
}

nb::tuple block_lists(const OwnedMap& self, std::int64_t q_block, std::int64_t kv_block) {
  std::unique_ptr<OwnedBlockLists> owned;
  {
    const nb::gil_scoped_release released;
    owned = self.map.to_block_lists(q_block, kv_block);
  }
  const BlockLists& lists = owned->lists;
  return nb::make_tuple(array_of(owned->kv_num_blocks, lists.kv_num_blocks.shape),
                        array_of(owned->kv_indices, lists.kv_indices.shape),
                        lists.full_kv_num_blocks
                            ? array_of(owned->full_kv_num_blocks, lists.full_kv_num_blocks->shape)
                            : nb::none(),
                        lists.full_kv_indices
                            ? array_of(owned->full_kv_indices, lists.full_kv_indices->shape)
                            : nb::none());
}

struct GridRequest {
  std::int64_t b, h, rows, columns;
};

/// Classes of rows x columns equal tiles of one (b, h): one byte a tile, 0 empty, 1 partial, 2
/// full.
nb::bytes tile_grid(const OwnedMap& self, const nb::tuple& place, const nb::tuple& grid) {
  const GridRequest request{nb::cast<std::int64_t>(place[0]), nb::cast<std::int64_t>(place[1]),
                            nb::cast<std::int64_t>(grid[0]), nb::cast<std::int64_t>(grid[1])};
  const MaskMapOptions& options = self.map.options();
  const auto range = [](std::int64_t length, std::int64_t parts, std::int64_t i) {
    return TokenRange{length * i / parts, length * (i + 1) / parts};
  };
  std::string classes;
  for (std::int64_t r = 0; r < request.rows; ++r) {
    for (std::int64_t c = 0; c < request.columns; ++c) {
      classes += static_cast<char>(self.map.tile_class(request.b, request.h,
                                                       range(options.q_len, request.rows, r),
                                                       range(options.kv_len, request.columns, c)));
    }
  }
  return nb::bytes(classes.data(), classes.size());
}

/// Writes the truth value of every pair of one query block into a row-major bool matrix.
void write_block(const OwnedMap& self, ir::Interpreter& interpreter, ir::Position at,
                 std::int64_t q_block, bool* rows) {
  const MaskMapOptions& options = self.map.options();
  const std::int64_t q_begin = q_block * options.q_block;
  const std::int64_t q_end = std::min(q_begin + options.q_block, options.q_len);
  for (const Span* span = self.map.begin(at.b, at.h, q_block);
       span != self.map.end(at.b, at.h, q_block); ++span) {
    for (std::int64_t q = q_begin; q < q_end; ++q) {
      bool* row = rows + q * options.kv_len;
      for (std::int64_t kv = span->kv_begin; kv < span->kv_end; ++kv) {
        at.q = options.q_base + q;
        at.kv = options.kv_base + kv;
        row[kv] = span->full || interpreter.mask(at);
      }
    }
  }
}

/// Writes the exact mask: `into` is a contiguous bool view [batch, heads, q_len, kv_len] of zeros.
void write_dense(const OwnedMap& self, const OwnedProgram& program, const View& into) {
  const MaskMapOptions& options = self.map.options();
  const nb::gil_scoped_release released;
  ir::Interpreter interpreter(program.program.structure(), program.program.bindings());
  auto* rows = static_cast<bool*>(into.view.data);
  for (std::int64_t b = 0; b < options.batch; ++b) {
    for (std::int64_t h = 0; h < options.heads; ++h) {
      for (std::int64_t block = 0; block < self.map.q_blocks(); ++block)
        write_block(self, interpreter, {.b = b, .h = h, .q = 0, .kv = 0}, block, rows);
      rows += options.q_len * options.kv_len;
    }
  }
}

BlockLists lists_from(const nb::tuple& lengths, const nb::tuple& blocks, const nb::tuple& views) {
  BlockLists lists;
  lists.q_len = nb::cast<std::int64_t>(lengths[0]);
  lists.kv_len = nb::cast<std::int64_t>(lengths[1]);
  lists.q_block = nb::cast<std::int64_t>(blocks[0]);
  lists.kv_block = nb::cast<std::int64_t>(blocks[1]);
  lists.kv_num_blocks = required_view(views[0]);
  lists.kv_indices = required_view(views[1]);
  lists.full_kv_num_blocks =
      views[2].is_none() ? std::nullopt : std::optional(required_view(views[2]));
  lists.full_kv_indices =
      views[3].is_none() ? std::nullopt : std::optional(required_view(views[3]));
  return lists;
}

}  // namespace

void bind_masks(nb::module_& module) {
  nb::class_<BlockLists>(module, "BlockLists", nb::dynamic_attr())
      .def(
          "__init__",
          [](BlockLists* self, const nb::tuple& lengths, const nb::tuple& blocks,
             const nb::tuple& views) { new (self) BlockLists(lists_from(lengths, blocks, views)); })
      .def_prop_ro("shape",
                   [](const BlockLists& self) { return nb::make_tuple(self.q_len, self.kv_len); });
  nb::class_<OwnedMap>(module, "MaskMap")
      .def_static("build", &build, nb::arg("program"), nb::arg("options"))
      .def_static("from_block_lists", &from_lists, nb::arg("lists"))
      .def("block_lists", &block_lists, nb::arg("q_block") = 128, nb::arg("kv_block") = 128)
      .def("tile_grid", &tile_grid, nb::arg("place"), nb::arg("grid"))
      .def("write_dense", &write_dense, nb::arg("program"), nb::arg("into"))
      .def_prop_ro("live_pairs", [](const OwnedMap& self) { return self.map.live_pairs(); })
      .def_prop_ro("covered_pairs", [](const OwnedMap& self) { return self.map.covered_pairs(); })
      .def_prop_ro("sparsity", [](const OwnedMap& self) { return self.map.sparsity_percent(); })
      .def_prop_ro("spans", [](const OwnedMap& self) { return self.map.span_count(); })
      .def_prop_ro("nbytes", [](const OwnedMap& self) { return self.map.bytes(); });
}

}  // namespace tilewright::python
