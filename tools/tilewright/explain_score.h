#pragma once

#include <string>
#include <vector>

#include "io/json.h"
#include "ir/interpret.h"
#include "tilewright/engine.h"
#include "tilewright/program.h"

namespace tilewright::cli {

/// One node of a program and what it held for one score.
struct TracedNode {
  std::string name;        ///< "%7"
  std::string expression;  ///< "add(%3, %5)"
  std::string value;
  std::string role;  ///< "mask" or "score" for a root
};

/// What a program does to one score, by the fp64 meaning.
struct ScoreTrace {
  ir::Position position;
  double score_in = 0;
  bool live = true;
  double score_out = 0;
  std::vector<TracedNode> nodes;
};

/// The scaled product of the position's query and key, in fp64, with the default scale. Throws
/// Error for a position outside the tensors.
double score_of(const ForwardInputs& inputs, const ir::Position& position);

ScoreTrace trace_score(const Program& program, double score, const ir::Position& position);

io::Json to_json(const ScoreTrace& trace);
std::string to_text(const ScoreTrace& trace);

}  // namespace tilewright::cli
