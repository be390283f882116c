#include <algorithm>
#include <array>
#include <utility>

#include "analyse/block_list_shapes.h"
#include "analyse/facts.h"
#include "analyse/mask_map_state.h"
#include "analyse/tile_walk.h"
#include "base/element.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

using analyse::raise_lists;

std::int64_t tiles_of(std::int64_t length, std::int64_t block) {
  return (length + block - 1) / block;
}

/// One pair of arrays: how many tiles each row lists, and which.
struct ListView {
  const TensorView* counts;
  const TensorView* indices;
  std::string name;

  std::int64_t at(const TensorView& view, std::initializer_list<std::int64_t> place) const {
    std::int64_t offset = 0;
    std::size_t axis = 0;
    for (std::int64_t i : place) {
      if (view.shape[axis] > 1) offset += i * view.strides[axis];
      ++axis;
    }
    return read_integer(view, offset);
  }
};

/// Reads and checks FlexAttention's lists. Entries past a count are never read.
class ListReader {
 public:
  explicit ListReader(const BlockLists& lists)
      : shapes_(analyse::list_shapes(lists, {DeviceKind::kCpu, 0})) {
    views_.push_back({&lists.kv_num_blocks, &lists.kv_indices, "kv"});
    if (lists.full_kv_num_blocks)
      views_.push_back({&*lists.full_kv_num_blocks, &*lists.full_kv_indices, "full_kv"});
  }

  std::int64_t batches() const { return shapes_.batches; }
  std::int64_t heads() const { return shapes_.heads; }
  std::int64_t q_tiles() const { return shapes_.q_tiles; }

  /// Class of every key tile of one row.
  const std::vector<TileClass>& row(std::int64_t b, std::int64_t h, std::int64_t q_tile) {
    classes_.assign(static_cast<std::size_t>(shapes_.kv_tiles), TileClass::kEmpty);
    for (std::size_t i = 0; i < views_.size(); ++i)
      read(views_[i], {b, h, q_tile}, i == 0 ? TileClass::kPartial : TileClass::kFull);
    return classes_;
  }

 private:
  void read(const ListView& view, const std::array<std::int64_t, 3>& at, TileClass found) {
    const std::int64_t count = view.at(*view.counts, {at[0], at[1], at[2]});
    const std::int64_t room = view.indices->shape[3];
    const std::string place = to_string(Dims{at[0], at[1], at[2]});
    if (count < 0 || count > room)
      raise_lists(view.name + "_num_blocks" + place, "a count in [0, " + std::to_string(room) + "]",
                  std::to_string(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t tile = view.at(*view.indices, {at[0], at[1], at[2], i});
      if (tile < 0 || tile >= shapes_.kv_tiles)
        raise_lists(view.name + "_indices" + place,
                    "key tiles in [0, " + std::to_string(shapes_.kv_tiles) + ")",
                    std::to_string(tile));
      classes_[static_cast<std::size_t>(tile)] = found;
    }
  }

  analyse::ListShapes shapes_;
  std::vector<ListView> views_;
  std::vector<TileClass> classes_;
};

void append_row(std::vector<Span>& spans, const std::vector<TileClass>& classes,
                const BlockLists& lists) {
  const std::size_t row_begin = spans.size();
  for (std::size_t tile = 0; tile < classes.size(); ++tile) {
    if (classes[tile] == TileClass::kEmpty) continue;
    const std::int64_t begin = static_cast<std::int64_t>(tile) * lists.kv_block;
    const std::int64_t end = std::min(begin + lists.kv_block, lists.kv_len);
    const bool full = classes[tile] == TileClass::kFull;
    const bool joins =
        spans.size() > row_begin && spans.back().kv_end == begin && spans.back().full == full;
    if (joins)
      spans.back().kv_end = end;
    else
      spans.push_back({.kv_begin = begin, .kv_end = end, .full = full});
  }
}

/// Fills the spans of `state`, whose options say how many batches and heads are kept.
void read_lists(MaskMap::State& state, const BlockLists& lists, ListReader& reader) {
  state.from_lists = true;
  state.q_blocks = reader.q_tiles();
  state.first.push_back(0);
  for (std::int64_t b = 0; b < state.batches; ++b)
    for (std::int64_t h = 0; h < state.heads; ++h)
      for (std::int64_t q_tile = 0; q_tile < state.q_blocks; ++q_tile) {
        const auto& row =
            reader.row(reader.batches() == 1 ? 0 : b, reader.heads() == 1 ? 0 : h, q_tile);
        append_row(state.spans, row, lists);
        state.first.push_back(static_cast<std::int64_t>(state.spans.size()));
      }
  state.find_group_keys();
}

/// How many lists one axis keeps for a problem of `problem` batches or heads.
std::int64_t kept(std::int64_t in_lists, std::int64_t problem, bool mask_depends,
                  const char* axis) {
  if (in_lists != 1 && in_lists != problem)
    raise_lists(axis, "1 or " + std::to_string(problem), std::to_string(in_lists));
  return mask_depends ? problem : in_lists;
}

}  // namespace

MaskMap MaskMap::from_block_lists(const BlockLists& lists) {
  ListReader reader(lists);
  auto state = std::make_shared<State>();
  state->options = {.batch = reader.batches(),
                    .heads = reader.heads(),
                    .q_len = lists.q_len,
                    .kv_len = lists.kv_len,
                    .q_block = lists.q_block};
  state->batches = reader.batches();
  state->heads = reader.heads();
  read_lists(*state, lists, reader);
  return MaskMap(std::move(state));
}

MaskMap MaskMap::from_block_lists(const BlockLists& lists, const Program& program,
                                  const MaskMapOptions& options) {
  ListReader reader(lists);
  if (options.q_len != lists.q_len || options.kv_len != lists.kv_len)
    raise_lists("lengths", to_string(Dims{options.q_len, options.kv_len}),
                to_string(Dims{lists.q_len, lists.kv_len}));
  auto state = std::make_shared<State>();
  state->program.emplace(program);
  state->classifier.emplace(state->program->structure(), state->program->bindings());
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  state->options = options;
  state->options.q_block = lists.q_block;
  state->holds_for_any_batch = reader.batches() == 1 && !facts.mask_depends_on_b;
  state->holds_for_any_head = reader.heads() == 1 && !facts.mask_depends_on_h;
  state->batches = kept(reader.batches(), options.batch, facts.mask_depends_on_b, "batch");
  state->heads = kept(reader.heads(), options.heads, facts.mask_depends_on_h, "heads");
  read_lists(*state, lists, reader);
  return MaskMap(std::move(state));
}

std::unique_ptr<OwnedBlockLists> MaskMap::to_block_lists(std::int64_t q_block,
                                                         std::int64_t kv_block) const {
  analyse::require_tile(q_block, kv_block);
  const State& own = *state_;
  const std::int64_t rows = own.batches * own.heads * tiles_of(own.options.q_len, q_block);
  const std::int64_t room = tiles_of(own.options.kv_len, kv_block);
  auto made = std::make_unique<OwnedBlockLists>();
  const auto row_count = static_cast<std::size_t>(rows);
  made->kv_num_blocks.assign(row_count, 0);
  made->full_kv_num_blocks.assign(row_count, 0);
  made->kv_indices.assign(row_count * static_cast<std::size_t>(room), 0);
  made->full_kv_indices.assign(row_count * static_cast<std::size_t>(room), 0);

  std::size_t at = 0;
  analyse::TileWalk(own).for_each_row(q_block, kv_block, [&](const analyse::TileRow& row) {
    for (const analyse::TileRun& run : row.runs) {
      auto& counts = run.full ? made->full_kv_num_blocks : made->kv_num_blocks;
      auto& indices = run.full ? made->full_kv_indices : made->kv_indices;
      for (std::int64_t tile = run.begin; tile < run.end; ++tile)
        indices[at * static_cast<std::size_t>(room) + static_cast<std::size_t>(counts[at]++)] =
            static_cast<std::int32_t>(tile);
    }
    ++at;
  });

  const Dims counts_shape{own.batches, own.heads, tiles_of(own.options.q_len, q_block)};
  const Dims indices_shape{counts_shape[0], counts_shape[1], counts_shape[2], room};
  BlockLists& lists = made->lists;
  lists.q_len = own.options.q_len;
  lists.kv_len = own.options.kv_len;
  lists.q_block = q_block;
  lists.kv_block = kv_block;
  lists.kv_num_blocks = contiguous(made->kv_num_blocks.data(), DType::kI32, counts_shape);
  lists.kv_indices = contiguous(made->kv_indices.data(), DType::kI32, indices_shape);
  lists.full_kv_num_blocks = contiguous(made->full_kv_num_blocks.data(), DType::kI32, counts_shape);
  lists.full_kv_indices = contiguous(made->full_kv_indices.data(), DType::kI32, indices_shape);
  return made;
}

}  // namespace tilewright
