// A plan of a model as the plan of the same model at other sizes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "parallel/plans/plan_document.h"
#include "parallel/work/origins.h"

namespace soapstone::jobs {

/// Loops of the graph have to be cut into so many parts, by their size.
using PartsOfSizes = std::map<std::int64_t, std::int64_t>;

/// Other sizes have to keep these limits, beside those that the plan has.
struct SizeLimits {
  PartsOfSizes parts = {};
  /// A number of the request, by its name, is no less.
  std::map<std::string, std::int64_t> least = {};
  bool are_distinct = false;  ///< Sizes differ where those of the graph do.
  /// False: nothing of it is new.
  bool ask_for(const PartsOfSizes& more);
};

/// Whether the loops are the same in all but their sizes.
bool have_same_loops(const ops::PartitionSpace& a, const ops::PartitionSpace& b);

/// Whether a loop has so many parts, and equal ones if that of the size `other` has.
bool has_parts_as(std::int64_t size, std::int64_t other, std::int64_t parts);

class PlanResizer {
 public:
  /// All must outlive this; the plan belongs to the graph. `is_weight` by tensor.
  PlanResizer(const core::Graph& graph, const std::vector<bool>& is_weight,
              const parallel::PlanDocument& plan);

  std::size_t node_bound() const { return graph_.node_bound(); }

  /// None: `other` has other operators or weights, or other loops, sizes of 1 at other places, or
  /// a loop that cannot be cut into as many parts as the plan cuts that of the graph into, or sizes
  /// beyond the limits.
  std::optional<parallel::PlanDocument> plan_of(const core::Graph& other,
                                                const std::vector<bool>& is_weight,
                                                const SizeLimits& limits) const;

 private:
  bool has_same_operators(const core::Graph& other, const std::vector<bool>& is_weight) const;
  bool has_like_sizes(const core::Graph& other, bool are_distinct) const;
  bool can_be_cut(const parallel::GraphLoops& loops, const SizeLimits& limits) const;
  bool resize_weights(const core::Graph& other, const parallel::GraphLoops& loops,
                      parallel::PlanDocument& plan) const;

  const core::Graph& graph_;
  const std::vector<bool>& is_weight_;
  const parallel::PlanDocument& plan_;
  const parallel::GraphLoops loops_;
};

}  // namespace soapstone::jobs
