// The parts of a graph for which a planner makes a plan each.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "transforms/base/rewrite_sequence.h"

namespace soapstone::transforms {

/// Numbers; parts that were joined are one.
using GraphPart = std::size_t;

/// Steps by part of the graph. Parts are joined where a step needs what steps of both have made.
class SequenceParts {
 public:
  GraphPart make();
  GraphPart join(GraphPart a, GraphPart b);
  /// None: no part yet.
  std::optional<GraphPart> join(std::optional<GraphPart> a, std::optional<GraphPart> b);

  /// `is_worth_it`: what the steps so far have made may be left as it is, see RewriteStep::ends.
  void add(GraphPart part, RewriteStep step, bool is_worth_it = false);
  std::size_t steps() const { return steps_.size(); }
  /// One for each part, with its steps in the order in which they were added.
  std::vector<RewriteSequence> plans() &&;

 private:
  struct Step {
    GraphPart part;
    bool is_worth_it;
    RewriteStep step;
  };
  GraphPart root(GraphPart part) const;

  std::vector<GraphPart> parent_;  ///< By part: itself, or one it was joined with.
  std::vector<Step> steps_;
};

}  // namespace soapstone::transforms
