// Parts of a model are observed with warm caches; factors bring their times to those in the model.
#pragma once

#include <algorithm>
#include <span>
#include <unordered_map>

#include "core/graph/graph.h"

namespace soapstone::jobs {

/// How much longer kernels take among all others of a model than in a part of it, where weights
/// stay in caches: by operator, as far as both were measured.
class PartFactors {
 public:
  void add(const core::Graph& graph, std::span<const core::NodeId> nodes, double model_us,
           double part_us) {
    if (model_us <= 0 || part_us <= 0) return;
    for (Sums* sums : {&by_op_[graph.node(nodes.front()).op], &all_}) {
      sums->model_us += model_us;
      sums->part_us += part_us;
    }
  }

  double of(const core::Graph& graph, std::span<const core::NodeId> nodes) const {
    for (const core::NodeId id : nodes)
      if (const auto known = by_op_.find(graph.node(id).op); known != by_op_.end())
        return known->second.factor();
    return all_.factor();
  }

 private:
  /// Beyond these it is no matter of caches.
  static constexpr double kLeast = 0.8, kMost = 2;

  struct Sums {
    double model_us = 0, part_us = 0;
    double factor() const {
      return part_us > 0 ? std::clamp(model_us / part_us, kLeast, kMost) : 1;
    }
  };
  std::unordered_map<const core::OpSchema*, Sums> by_op_;
  Sums all_;
};

}  // namespace soapstone::jobs
