// Figures from the times of all ranks of a run: how long ranks computed, exchanged and waited.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "parallel/lowering/rank_program.h"
#include "parallel/running/rank_runner.h"
#include "parallel/simulation/measured_lanes.h"

namespace soapstone::parallel {

enum class ExchangeKind : std::uint8_t { kMessages, kSum, kMax, kMin };
/// `messages`, `all-reduce (sum)`, …
std::string_view to_string(ExchangeKind kind);

/// All exchanges of a tensor that are of one kind.
struct ExchangeFigures {
  ExchangeKind kind = ExchangeKind::kMessages;
  std::string tensor;      ///< Its name in the model.
  std::int64_t count = 0;  ///< Messages, or reductions.
  double bytes = 0;        ///< What all ranks send, or give to be joined, together.
  double us = 0;           ///< Of all ranks together, without waiting.
};

struct RankFigures {
  double compute_us = 0;
  double exchange_us = 0;  ///< Without waiting.
  double wait_us = 0;      ///< For ranks that come later to an exchange, or end later.
  double idle_share = 0;   ///< Waiting, of the whole step.
};

struct RunFigures {
  double step_us = 0;  ///< Until the last rank ends.
  std::vector<RankFigures> ranks;
  std::vector<ExchangeFigures> exchanges;  ///< In the order of the first rank that has them.
  std::vector<MeasuredLane> lanes;         ///< One a rank.
};

/// Names for all tensors of a graph, for people: a tensor's own, or that of its node.
std::vector<std::string> tensor_names(const core::Graph& graph);

/// `names`: by tensor of the model. `times`: by rank and step of its program, from a moment that is
/// the same on all ranks.
RunFigures figures_of(const std::vector<std::string>& names,
                      const std::vector<RankProgram>& programs,
                      const std::vector<std::vector<RankStepTime>>& times);

}  // namespace soapstone::parallel
