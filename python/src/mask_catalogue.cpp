#include <nanobind/stl/string.h>

#include "catalogue.h"

namespace tilewright::python {

namespace {

void bind_language_masks(Binder<MaskMod>& masks) {
  using namespace tilewright::masks;
  masks.def("causal", &causal, "", "kv <= q");
  masks.def<Number>("causal_offset", &causal_offset, "offset", "kv <= q + offset");
  masks.def<Capture>("causal_offset_tensor", &causal_offset, "offset",
                     "kv <= q + offset, the offset read from a tensor of rank 0");
  masks.def("window", &window, "keys", "0 <= q - kv < keys: each query sees that many keys");
  masks.def("window_inclusive", &window_inclusive, "keys_back",
            "0 <= q - kv <= keys_back (FlexAttention's convention)");
  masks.def("dilated_window", &dilated_window, "radius dilation",
            "|q - kv| <= radius and |q - kv| % dilation == 0");
  masks.def("global_window", &global_window, "radius globals",
            "|q - kv| <= radius or globals[q] or globals[kv]");
  masks.def("prefix_lm", &prefix_lm, "prefix", "kv < prefix or kv <= q");
  masks.def("prefix_lm_per_batch", &prefix_lm_per_batch, "prefixes", "kv < prefixes[b] or kv <= q");
  masks.def("chunked", &chunked, "chunk", "q // chunk == kv // chunk and kv <= q");
  masks.def("documents", &documents, "ids", "ids[q] == ids[kv]");
  masks.def("per_document", &per_document, "ids starts inner",
            "ids[q] == ids[kv] and inner(q - starts[ids[q]], kv - starts[ids[kv]])");
  masks.def("packed_causal", &packed_causal, "ids starts", "starts[ids[q]] <= kv <= q");
  masks.def("shared_prefix", &shared_prefix, "ids starts prefixes",
            "causal inside the query's document, and all of the document that is its prefix");
  masks.def("jagged", &jagged, "sequences offsets inner",
            "seq[q] == seq[kv] and inner on positions inside the sequence");
  masks.def("batchify", &batchify, "length inner",
            "q // length == kv // length and inner(q % length, kv % length)");
  masks.def("flamingo", &flamingo, "image_tokens low high",
            "low[kv // image_tokens] <= q < high[kv // image_tokens]");
  masks.def("block_diffusion", &block_diffusion, "block length",
            "block diffusion over 2 * length positions, the first half noised");
  masks.def("transfusion", &transfusion, "spans",
            "kv <= q or (spans[q] == spans[kv] and spans[q] >= 0)");
  masks.def("dialogue", &dialogue, "turns", "turns[kv] <= turns[q]");
  masks.def("dialogue_window", &dialogue_window, "turns last_turns",
            "kv <= q and turns[q] - turns[kv] < last_turns");
  masks.def("padded_keys", &padded_keys, "lengths", "kv < lengths[b]");
  masks.def("padded_lengths", &padded_lengths, "lengths", "q < lengths[b] and kv < lengths[b]");
  masks.def("skip_odd_keys", &skip_odd_keys, "", "kv % 2 == 0");
  masks.def("scattered_causal", &scattered_causal, "period", "kv <= q and (q + kv) % period != 0");
  masks.def("paged", &paged, "page logical inner",
            "inner on logical positions: kv // page is a physical page, logical[] maps it");
}

void bind_grid_masks(Binder<MaskMod>& masks) {
  using namespace tilewright::masks;
  masks.def("natten_2d", &natten_2d, "width height kernel",
            "neighbourhood attention on a grid; the window stays inside");
  masks.def("tiled_natten", &tiled_natten, "width height kernel tile",
            "natten_2d for positions laid out tile by tile");
  masks.def("morton_natten", &morton_natten, "width height kernel",
            "natten_2d for positions in Z order");
  masks.def("sasa", &sasa, "width radius", "|dx| <= radius and |dy| <= radius, not clamped");
  masks.def("sta_2d", &sta_2d, "width height tile kernel", "sliding tile attention in 2D");
  masks.def("sta_3d", &sta_3d, "depth height width kernel tile", "sliding tile attention in 3D");
  masks.def("svg_spatial", &svg_spatial, "text frame distance",
            "q < text or kv < text + frame or |q - kv| < distance");
  masks.def("svg_temporal", &svg_temporal, "text frame distance",
            "q < text or kv < text or |(q - text) % frame - (kv - text) % frame| < distance");
  masks.def("vsa", &vsa, "tile selected sizes",
            "selected[h, q // tile, kv // tile] and kv % tile < sizes[kv // tile]");
  masks.def("video_causal", &video_causal, "videos",
            "kv <= q or an earlier video, or the same video if its number is even");
  masks.def("jetspec_tree", &jetspec_tree, "prefix ancestor",
            "kv < prefix or ancestor[q, kv - prefix]");
  masks.def("jetspec_training", &jetspec_training, "prefix block",
            "kv < prefix or an earlier place in the query's block");
  masks.def("speculative_tree", &speculative_tree, "prefix ancestor",
            "kv <= q and (kv < prefix or ancestor[q - prefix, kv - prefix])");
}

}  // namespace

void bind_mask_catalogue(nb::module_& module) {
  nb::module_ masks = module.def_submodule("masks");
  masks.attr("PARAMETERS") = nb::dict();
  nb::class_<CatalogueMod<MaskMod>>(masks, "MaskMod", nb::dynamic_attr())
      .def_prop_ro("captures", &named_captures<MaskMod>)
      .def("__call__", [](const CatalogueMod<MaskMod>& self, Index b, Index h, Index q, Index kv) {
        note_captures(self.captures);
        return wrap(self.mod(b, h, q, kv));
      });
  Binder<MaskMod> binder(masks);
  bind_language_masks(binder);
  bind_grid_masks(binder);
  using namespace tilewright::masks;
  binder.def("all_of", &all_of, "parts", "every part holds; each is evaluated at every pair");
  binder.def("any_of", &any_of, "parts", "some part holds; each is evaluated at every pair");
  binder.def("negate", &negate, "part", "the part does not hold");
  binder.def("offset", &tilewright::masks::offset, "part q_offset kv_offset",
             "part at (q + q_offset, kv + kv_offset)");
}

}  // namespace tilewright::python
