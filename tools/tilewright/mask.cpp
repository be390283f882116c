#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "console.h"
#include "exit_code.h"
#include "io/json.h"
#include "io/output_file.h"
#include "mod_options.h"
#include "picture/mask_grid.h"
#include "picture/png_picture.h"
#include "picture/svg_picture.h"
#include "picture/terminal_picture.h"
#include "tilewright/error.h"
#include "tilewright/mask_map.h"
#include "tilewright/problem.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct MaskCommand {
  ModOptions mods;
  MaskMapOptions map;
  std::int64_t kv_block = 128;
  std::int64_t b = 0;
  std::int64_t h = 0;
  std::int64_t cells = 512;
  std::string svg;
  std::string png;
  std::string colours = "auto";
  bool json = false;
};

/// What the verb measured.
struct Measured {
  TileCounts tiles;
  std::int64_t live_pairs = 0;
  std::int64_t pairs = 0;
  std::int64_t spans = 0;
  std::int64_t blocks_over_budget = 0;
  std::size_t bytes = 0;
  double build_ms = 0;
};

void require_selected(const MaskCommand& command) {
  const bool inside = command.b >= 0 && command.b < command.map.batch && command.h >= 0 &&
                      command.h < command.map.heads;
  if (inside) return;
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "the mask has no such batch entry or head to draw",
               .where = "--b, --h",
               .expected = formatted("b < {}, h < {}", command.map.batch, command.map.heads),
               .got = formatted("b = {}, h = {}", command.b, command.h),
               .hint = "raise --batch or --heads"});
}

Measured measure(const Program& program, const MaskCommand& command) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const MaskMap map = MaskMap::build(program, command.map);
  const std::chrono::duration<double, std::milli> build_ms = Clock::now() - begin;
  Measured measured;
  measured.build_ms = build_ms.count();
  measured.tiles = map.count_tiles(map.options().q_block, command.kv_block);
  measured.live_pairs = map.live_pairs();
  measured.pairs = command.map.batch * command.map.heads * command.map.q_len * command.map.kv_len;
  measured.spans = map.span_count();
  measured.blocks_over_budget = map.blocks_over_budget();
  measured.bytes = map.bytes();
  return measured;
}

io::Json to_json(const Measured& measured, const MaskCommand& command) {
  io::Json json;
  json["q"] = command.map.q_len;
  json["kv"] = command.map.kv_len;
  json["batch"] = command.map.batch;
  json["heads"] = command.map.heads;
  json["q_block"] = command.map.q_block;
  json["kv_block"] = command.kv_block;
  json["pairs"] = measured.pairs;
  json["live_pairs"] = measured.live_pairs;
  json["tiles_empty"] = measured.tiles.empty;
  json["tiles_partial"] = measured.tiles.partial;
  json["tiles_full"] = measured.tiles.full;
  json["spans"] = measured.spans;
  json["blocks_over_budget"] = measured.blocks_over_budget;
  json["bytes"] = measured.bytes;
  json["build_ms"] = measured.build_ms;
  return json;
}

std::vector<std::string> notes(const Measured& m, const MaskCommand& command) {
  const double share =
      m.pairs == 0 ? 0 : 100.0 * static_cast<double>(m.live_pairs) / static_cast<double>(m.pairs);
  std::vector<std::string> lines{
      formatted("live pairs {} of {} ({:.2f} %)", m.live_pairs, m.pairs, share),
      formatted("tiles of {} x {}: {} empty, {} partial, {} full", command.map.q_block,
                command.kv_block, m.tiles.empty, m.tiles.partial, m.tiles.full),
      formatted("map: {} spans, {} bytes, built in {:.2f} ms", m.spans, m.bytes, m.build_ms)};
  if (m.blocks_over_budget > 0) {
    lines.push_back(formatted("{} query blocks ran out of budget: their rest is one partial span",
                              m.blocks_over_budget));
  }
  return lines;
}

MaskPicture picture_of(const Program& program, const MaskCommand& command, const Measured& measured,
                       std::int64_t cells) {
  GridOptions options{.b = command.b,
                      .h = command.h,
                      .q_len = command.map.q_len,
                      .kv_len = command.map.kv_len,
                      .q_base = command.map.q_base,
                      .kv_base = command.map.kv_base,
                      .max_rows = cells,
                      .max_columns = cells};
  // The longer side sets the scale, so that the picture keeps the mask's proportions.
  const std::int64_t longer = std::max(options.q_len, options.kv_len);
  const std::int64_t cell = std::max<std::int64_t>(1, (longer + cells - 1) / cells);
  options.max_rows = std::max<std::int64_t>(1, (options.q_len + cell - 1) / cell);
  options.max_columns = std::max<std::int64_t>(1, (options.kv_len + cell - 1) / cell);
  std::string title = command.mods.mask.empty() ? command.mods.program_file : command.mods.mask;
  if (title.empty()) title = "no mask";
  if (command.map.batch * command.map.heads > 1) {
    title += formatted("  (b = {}, h = {})", command.b, command.h);
  }
  return {
      .title = title, .grid = make_mask_grid(program, options), .notes = notes(measured, command)};
}

Problem problem_of(const MaskMapOptions& map) {
  Problem problem;
  problem.batch = map.batch;
  problem.kv_batch = map.batch;
  problem.query_heads = map.heads;
  problem.kv_heads = map.heads;
  problem.q_len = map.q_len;
  problem.kv_len = map.kv_len;
  return problem;
}

int draw_mask(const MaskCommand& command) {
  require_selected(command);
  OpenFiles files;
  const LoadedProgram loaded = load_program(command.mods, problem_of(command.map), files);
  const Program& program = loaded.program;
  const Measured measured = measure(program, command);
  if (!command.svg.empty() || !command.png.empty()) {
    const MaskPicture picture = picture_of(program, command, measured, command.cells);
    if (!command.svg.empty()) io::write_text_file(command.svg, svg_picture(picture));
    if (!command.png.empty()) write_png_picture(command.png, picture);
  }
  if (command.json) {
    print_json(to_json(measured, command));
    return kSuccess;
  }
  const std::int64_t cells = std::min(command.cells, kTerminalColumns);
  const MaskPicture picture = picture_of(program, command, measured, cells);
  print(terminal_picture(picture, use_colours(command.colours)));
  return kSuccess;
}

void add_size_options(OptionList& list, MaskCommand& command) {
  const auto positive = NumberRange{1, std::int64_t{1} << 20};
  list.add({.name = "--q",
            .target = &command.map.q_len,
            .meaning = "query tokens",
            .range = kAnyLength,
            .required = true});
  list.add({.name = "--kv",
            .target = &command.map.kv_len,
            .meaning = "key tokens",
            .range = kAnyLength,
            .required = true});
  list.add({.name = "--batch",
            .target = &command.map.batch,
            .meaning = "batch entries, if the mask reads b",
            .range = positive});
  list.add({.name = "--heads",
            .target = &command.map.heads,
            .meaning = "query heads, if the mask reads h",
            .range = positive});
  list.add({.name = "--q-base",
            .target = &command.map.q_base,
            .meaning = "logical position of query row 0"});
  list.add({.name = "--kv-base",
            .target = &command.map.kv_base,
            .meaning = "logical position of key 0"});
  list.add({.name = "--q-block",
            .target = &command.map.q_block,
            .meaning = "query tokens of one block of the map",
            .range = positive});
  list.add({.name = "--kv-block",
            .target = &command.kv_block,
            .meaning = "key tokens of a counted tile",
            .range = positive});
}

}  // namespace

Action declare_mask(OptionList& list) {
  auto command = std::make_shared<MaskCommand>();
  add_mod_options(list, command->mods);
  add_size_options(list, *command);
  list.add({.name = "--b", .target = &command->b, .meaning = "batch entry to draw"});
  list.add({.name = "--h", .target = &command->h, .meaning = "head to draw"});
  list.add({.name = "--svg",
            .target = &command->svg,
            .meaning = "write the picture as SVG",
            .value_name = "FILE"});
  list.add({.name = "--png",
            .target = &command->png,
            .meaning = "write the picture as PNG",
            .value_name = "FILE"});
  list.add({.name = "--cells",
            .target = &command->cells,
            .meaning = "cells along the longer side of SVG and PNG",
            .range = NumberRange{1, 2048}});
  list.add({.name = "--color",
            .target = &command->colours,
            .meaning = "colours in the terminal",
            .choices = {"auto", "always", "never"}});
  list.add({.name = "--json",
            .target = &command->json,
            .meaning = "print numbers as JSON instead of the picture"});
  list.end_with(
      "Examples:\n"
      "  tilewright mask --mask \"q >= kv\" --q 64 --kv 64\n"
      "  tilewright mask --mask \"(q >= kv) & (q - kv < 4096)\" --q 1048576 --kv 1048576 --json\n"
      "  tilewright mask --mask \"window(W=64)\" --q 512 --kv 512 --png window.png\n"
      "  tilewright mask --mask \"doc[q] == doc[kv]\" --capture doc=doc.npy --q 240 --kv 240 --svg "
      "doc.svg");
  return [command] { return draw_mask(*command); };
}

}  // namespace tilewright::cli
