#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "console.h"
#include "exit_code.h"
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
               .expected = fmt::format("b < {}, h < {}", command.map.batch, command.map.heads),
               .got = fmt::format("b = {}, h = {}", command.b, command.h),
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

nlohmann::ordered_json to_json(const Measured& measured, const MaskCommand& command) {
  nlohmann::ordered_json json;
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
      fmt::format("live pairs {} of {} ({:.2f} %)", m.live_pairs, m.pairs, share),
      fmt::format("tiles of {} x {}: {} empty, {} partial, {} full", command.map.q_block,
                  command.kv_block, m.tiles.empty, m.tiles.partial, m.tiles.full),
      fmt::format("map: {} spans, {} bytes, built in {:.2f} ms", m.spans, m.bytes, m.build_ms)};
  if (m.blocks_over_budget > 0) {
    lines.push_back(fmt::format("{} query blocks ran out of budget: their rest is one partial span",
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
    title += fmt::format("  (b = {}, h = {})", command.b, command.h);
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

void add_size_options(CLI::App& app, MaskCommand& command) {
  const auto positive = CLI::Range(std::int64_t{1}, std::int64_t{1} << 20);
  const auto length = CLI::Range(std::int64_t{0}, std::int64_t{1} << 40);
  app.add_option("--q", command.map.q_len, "query tokens")->required()->check(length);
  app.add_option("--kv", command.map.kv_len, "key tokens")->required()->check(length);
  app.add_option("--batch", command.map.batch, "batch entries, if the mask reads b")
      ->check(positive);
  app.add_option("--heads", command.map.heads, "query heads, if the mask reads h")->check(positive);
  app.add_option("--q-base", command.map.q_base, "logical position of query row 0");
  app.add_option("--kv-base", command.map.kv_base, "logical position of key 0");
  app.add_option("--q-block", command.map.q_block, "query tokens of one block of the map")
      ->check(positive);
  app.add_option("--kv-block", command.kv_block, "key tokens of a counted tile")->check(positive);
}

}  // namespace

Action declare_mask(CLI::App& app) {
  auto command = std::make_shared<MaskCommand>();
  add_mod_options(app, command->mods);
  add_size_options(app, *command);
  app.add_option("--b", command->b, "batch entry to draw");
  app.add_option("--h", command->h, "head to draw");
  app.add_option("--svg", command->svg, "write the picture as SVG")->type_name("FILE");
  app.add_option("--png", command->png, "write the picture as PNG")->type_name("FILE");
  app.add_option("--cells", command->cells, "cells along the longer side of SVG and PNG")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{2048}));
  app.add_option("--color", command->colours, "colours in the terminal")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("--json", command->json, "print numbers as JSON instead of the picture");
  app.footer(
      "Examples:\n"
      "  tilewright mask --mask \"q >= kv\" --q 64 --kv 64\n"
      "  tilewright mask --mask \"(q >= kv) & (q - kv < 4096)\" --q 1048576 --kv 1048576 --json\n"
      "  tilewright mask --mask \"window(W=64)\" --q 512 --kv 512 --png window.png\n"
      "  tilewright mask --mask \"doc[q] == doc[kv]\" --capture doc=doc.npy --q 240 --kv 240 --svg "
      "doc.svg");
  return [command] { return draw_mask(*command); };
}

}  // namespace tilewright::cli
