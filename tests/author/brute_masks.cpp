#include "author/brute_masks.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include "base/element.h"

namespace tilewright::tests {

namespace {

struct Pair {
  const std::vector<Table>& tables;
  std::int64_t length;
  std::int64_t b, h, q, kv;

  std::int64_t in(std::size_t table, std::initializer_list<std::int64_t> index) const {
    return static_cast<std::int64_t>(element(tables.at(table), index));
  }
};

std::int64_t grid_edge(std::int64_t length, std::int64_t multiple) {
  std::int64_t edge = multiple;
  while (edge * edge < length) edge += multiple;
  return edge;
}

bool near(std::int64_t query, std::int64_t key, std::int64_t extent, std::int64_t left,
          std::int64_t right) {
  std::int64_t centre = query;
  if (centre < left) centre = left;
  if (centre > extent - 1 - right) centre = extent - 1 - right;
  return centre - left <= key && key <= centre + right;
}

bool natten(std::int64_t qx, std::int64_t qy, std::int64_t kx, std::int64_t ky, std::int64_t edge) {
  return near(qx, kx, edge, 2, 2) && near(qy, ky, edge, 2, 2);
}

/// Column of a tile-major position on a canvas of `edge` columns in tiles of 4 x 4.
std::int64_t tile_x(std::int64_t i, std::int64_t edge) {
  return i / 16 % (edge / 4) * 4 + i % 16 % 4;
}
std::int64_t tile_y(std::int64_t i, std::int64_t edge) {
  return i / 16 / (edge / 4) * 4 + i % 16 / 4;
}

std::int64_t deinterleave(std::int64_t i, int first) {
  std::int64_t bits = 0;
  for (int bit = 0; bit < 20; ++bit) bits |= (i >> (2 * bit + first) & 1) << bit;
  return bits;
}

bool sta_2d(const Pair& p) {
  const std::int64_t tiles = grid_edge(p.length, 4) / 4;
  const std::int64_t query = p.q / 16;
  const std::int64_t key = p.kv / 16;
  return near(query % tiles, key % tiles, tiles, 1, 0) &&
         near(query / tiles, key / tiles, tiles, 1, 0);
}

bool sta_3d(const Pair& p) {
  const std::int64_t tile = p.length / 20;
  const std::int64_t video = 2 * 3 * 3 * tile;
  if (p.q >= video || p.kv >= video) return true;
  const std::int64_t query = p.q / tile;
  const std::int64_t key = p.kv / tile;
  return near(query / 9, key / 9, 2, 1, 0) && near(query / 3 % 3, key / 3 % 3, 3, 1, 0) &&
         near(query % 3, key % 3, 3, 1, 0);
}

bool block_diffusion(const Pair& p) {
  const std::int64_t half = p.length / 2;
  const bool query_clean = p.q >= half;
  const bool key_clean = p.kv >= half;
  const std::int64_t query = (p.q - (query_clean ? half : 0)) / 8;
  const std::int64_t key = (p.kv - (key_clean ? half : 0)) / 8;
  if (query_clean == key_clean && query == key) return true;
  if (!query_clean && key_clean) return key < query;
  return query_clean && key_clean && key <= query;
}

bool is_ancestor(std::int64_t node, std::int64_t other) {
  while (node > other) node = (node - 1) / 2;
  return node == other;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t n) { return ((a % n) + n) % n; }

using Rule = std::function<bool(const Pair&)>;

const std::map<std::string, Rule, std::less<>> kRules{
    {"causal", [](const Pair& p) { return p.kv <= p.q; }},
    {"causal_offset", [](const Pair& p) { return p.kv <= p.q + 7; }},
    {"window", [](const Pair& p) { return p.kv <= p.q && p.q - p.kv < 64; }},
    {"window_inclusive", [](const Pair& p) { return p.kv <= p.q && p.q - p.kv <= 64; }},
    {"dilated_window",
     [](const Pair& p) { return std::abs(p.q - p.kv) <= 64 && std::abs(p.q - p.kv) % 4 == 0; }},
    {"global_window",
     [](const Pair& p) { return std::abs(p.q - p.kv) <= 32 || p.q < 4 || p.kv < 4; }},
    {"prefix_lm", [](const Pair& p) { return p.kv < 32 || p.kv <= p.q; }},
    {"prefix_lm_per_batch", [](const Pair& p) { return p.kv < 16 + 8 * p.b || p.kv <= p.q; }},
    {"chunked", [](const Pair& p) { return p.q / 48 == p.kv / 48 && p.kv <= p.q; }},
    {"documents", [](const Pair& p) { return p.in(0, {p.q}) == p.in(0, {p.kv}); }},
    {"document_causal",
     [](const Pair& p) { return p.in(0, {p.q}) == p.in(0, {p.kv}) && p.kv <= p.q; }},
    {"packed_causal",
     [](const Pair& p) { return p.in(0, {p.q}) == p.in(0, {p.kv}) && p.kv <= p.q; }},
    {"shared_prefix",
     [](const Pair& p) {
       const std::int64_t query = p.in(0, {p.q});
       const std::int64_t key = p.in(0, {p.kv});
       return (query == key && p.kv <= p.q) || (query % 3 != 0 && key == query - query % 3);
     }},
    {"jagged",
     [](const Pair& p) {
       return p.in(0, {p.q}) == p.in(0, {p.kv}) && p.kv <= p.q && p.q - p.kv < 16;
     }},
    {"batchify", [](const Pair& p) { return p.q / 40 == p.kv / 40 && p.kv <= p.q; }},
    {"flamingo",
     [](const Pair& p) { return p.in(0, {p.kv / 16}) <= p.q && p.q < p.in(1, {p.kv / 16}); }},
    {"block_diffusion", block_diffusion},
    {"transfusion",
     [](const Pair& p) {
       const std::int64_t span = p.in(0, {p.q});
       return p.kv <= p.q || (span != -1 && span == p.in(0, {p.kv}));
     }},
    {"dialogue", [](const Pair& p) { return p.in(0, {p.kv}) <= p.in(0, {p.q}); }},
    {"dialogue_window",
     [](const Pair& p) { return p.kv <= p.q && p.in(0, {p.q}) < p.in(0, {p.kv}) + 2; }},
    {"natten_2d",
     [](const Pair& p) {
       const std::int64_t edge = grid_edge(p.length, 1);
       return natten(p.q % edge, p.q / edge, p.kv % edge, p.kv / edge, edge);
     }},
    {"tiled_natten",
     [](const Pair& p) {
       const std::int64_t edge = grid_edge(p.length, 4);
       return natten(tile_x(p.q, edge), tile_y(p.q, edge), tile_x(p.kv, edge), tile_y(p.kv, edge),
                     edge);
     }},
    {"morton_natten",
     [](const Pair& p) {
       return natten(deinterleave(p.q, 0), deinterleave(p.q, 1), deinterleave(p.kv, 0),
                     deinterleave(p.kv, 1), 16);
     }},
    {"sasa",
     [](const Pair& p) {
       const std::int64_t edge = grid_edge(p.length, 1);
       return std::abs(p.q % edge - p.kv % edge) <= 2 && std::abs(p.q / edge - p.kv / edge) <= 2;
     }},
    {"sta_2d", sta_2d},
    {"sta_3d", sta_3d},
    {"svg_spatial",
     [](const Pair& p) { return p.q < 8 || p.kv < 8 + 24 || std::abs(p.q - p.kv) < 32; }},
    {"svg_temporal",
     [](const Pair& p) {
       return p.q < 8 || p.kv < 8 || std::abs(floor_mod(p.q - 8, 24) - floor_mod(p.kv - 8, 24)) < 4;
     }},
    {"vsa",
     [](const Pair& p) {
       return p.in(0, {p.h, p.q / 16, p.kv / 16}) != 0 && p.kv % 16 < 16 - p.kv / 16 % 3;
     }},
    {"jetspec_tree", [](const Pair& p) { return p.kv < 16 || is_ancestor(p.q, p.kv - 16); }},
    {"jetspec_training",
     [](const Pair& p) {
       return p.kv < 16 || (p.q / 8 == (p.kv - 16) / 8 && (p.kv - 16) % 8 <= p.q % 8);
     }},
    {"speculative_tree",
     [](const Pair& p) {
       if (p.q < 16 || p.kv < 16) return p.kv <= p.q;
       return is_ancestor(p.q - 16, p.kv - 16);
     }},
    {"padded_keys", [](const Pair& p) { return p.kv < p.length - 16 * p.b - 8; }},
    {"padded_lengths",
     [](const Pair& p) { return p.kv < p.length - 16 * p.b - 8 && p.q < p.length - 16 * p.b - 8; }},
    {"skip_odd_keys", [](const Pair& p) { return p.kv % 2 == 0; }},
    {"scattered_causal", [](const Pair& p) { return p.kv <= p.q && (p.q + p.kv) % 5 != 0; }},
    {"video_causal",
     [](const Pair& p) {
       const std::int64_t query = p.in(0, {p.q});
       const std::int64_t key = p.in(0, {p.kv});
       return p.kv <= p.q || key < query || (key == query && key % 2 == 0);
     }},
    {"paged",
     [](const Pair& p) {
       const std::int64_t page = p.kv / 16;
       return page % 7 != 6 && ((p.length + 15) / 16 - 1 - page) * 16 + p.kv % 16 <= p.q;
     }},
};

}  // namespace

double element(const Table& table, std::initializer_list<std::int64_t> at) {
  const TensorView& view = table.view();
  std::int64_t offset = 0;
  std::size_t axis = 0;
  for (const std::int64_t index : at) {
    if (index < 0 || index >= view.shape[axis]) throw std::out_of_range("a brute-force subscript");
    offset += index * view.strides[axis++];
  }
  return read_real(view, offset);
}

bool brute_mask(std::string_view name, const std::vector<Table>& tables, const Problem& problem,
                const ir::Position& at) {
  const auto rule = kRules.find(name);
  if (rule == kRules.end())
    throw std::invalid_argument("no brute-force rule: " + std::string(name));
  return rule->second({tables, std::max(problem.q_len, problem.kv_len), at.b, at.h, at.q, at.kv});
}

}  // namespace tilewright::tests
