#include <algorithm>
#include <array>
#include <utility>

#include "analyse/facts.h"
#include "analyse/mask_map_state.h"
#include "analyse/tile_walk.h"
#include "base/element.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

[[noreturn]] void raise_lists(const std::string& where, std::string expected, std::string got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the block lists do not describe this mask",
               .where = where,
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = {}});
}

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
  explicit ListReader(const BlockLists& lists) : lists_(lists) {
    if (lists.q_len < 0 || lists.kv_len < 0)
      raise_lists("lengths", "at least 0", to_string(Dims{lists.q_len, lists.kv_len}));
    if (lists.q_block < 1 || lists.kv_block < 1)
      raise_lists("block size", "at least 1 token", to_string(Dims{lists.q_block, lists.kv_block}));
    if (lists.full_kv_num_blocks.has_value() != lists.full_kv_indices.has_value())
      raise_lists("full_kv_num_blocks and full_kv_indices", "both or neither", "one of them");
    q_tiles_ = tiles_of(lists.q_len, lists.q_block);
    kv_tiles_ = tiles_of(lists.kv_len, lists.kv_block);
    views_.push_back({&lists.kv_num_blocks, &lists.kv_indices, "kv"});
    if (lists.full_kv_num_blocks)
      views_.push_back({&*lists.full_kv_num_blocks, &*lists.full_kv_indices, "full_kv"});
    for (const ListView& view : views_) require_shapes(view);
  }

  std::int64_t batches() const { return batches_; }
  std::int64_t heads() const { return heads_; }
  std::int64_t q_tiles() const { return q_tiles_; }

  /// Class of every key tile of one row.
  const std::vector<TileClass>& row(std::int64_t b, std::int64_t h, std::int64_t q_tile) {
    classes_.assign(static_cast<std::size_t>(kv_tiles_), TileClass::kEmpty);
    for (std::size_t i = 0; i < views_.size(); ++i)
      read(views_[i], {b, h, q_tile}, i == 0 ? TileClass::kPartial : TileClass::kFull);
    return classes_;
  }

 private:
  void require_integers(const TensorView& view, const std::string& name, std::size_t rank) const {
    if (view.dtype != DType::kI32)
      raise_lists(name, "dtype i32", std::string(tilewright::name(view.dtype)));
    if (view.rank() != rank)
      raise_lists(name, "rank " + std::to_string(rank), "rank " + std::to_string(view.rank()));
    if (view.device.kind != DeviceKind::kCpu)
      raise_lists(name, "a tensor on the CPU", to_string(view.device));
    if (view.data == nullptr && element_count(view.shape) != 0) raise_lists(name, "data", "null");
  }

  void require_shapes(const ListView& view) {
    const TensorView& counts = *view.counts;
    const TensorView& indices = *view.indices;
    require_integers(counts, view.name + "_num_blocks", 3);
    require_integers(indices, view.name + "_indices", 4);
    if (view.counts == views_.front().counts) {
      batches_ = counts.shape[0];
      heads_ = counts.shape[1];
    }
    const Dims expected{batches_, heads_, q_tiles_};
    if (counts.shape != expected || batches_ < 1 || heads_ < 1)
      raise_lists(view.name + "_num_blocks", to_string(expected), to_string(counts.shape));
    const Dims leading{indices.shape[0], indices.shape[1], indices.shape[2]};
    if (leading != expected)
      raise_lists(view.name + "_indices", to_string(expected) + " and the entries of a row",
                  to_string(indices.shape));
  }

  void read(const ListView& view, const std::array<std::int64_t, 3>& at, TileClass found) {
    const std::int64_t count = view.at(*view.counts, {at[0], at[1], at[2]});
    const std::int64_t room = view.indices->shape[3];
    const std::string place = to_string(Dims{at[0], at[1], at[2]});
    if (count < 0 || count > room)
      raise_lists(view.name + "_num_blocks" + place, "a count in [0, " + std::to_string(room) + "]",
                  std::to_string(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t tile = view.at(*view.indices, {at[0], at[1], at[2], i});
      if (tile < 0 || tile >= kv_tiles_)
        raise_lists(view.name + "_indices" + place,
                    "key tiles in [0, " + std::to_string(kv_tiles_) + ")", std::to_string(tile));
      classes_[static_cast<std::size_t>(tile)] = found;
    }
  }

  const BlockLists& lists_;
  std::vector<ListView> views_;
  std::vector<TileClass> classes_;
  std::int64_t batches_ = 1;
  std::int64_t heads_ = 1;
  std::int64_t q_tiles_ = 0;
  std::int64_t kv_tiles_ = 0;
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
