// What rounded factors do to a model's outputs: a device with a narrower precision
// (DeviceRequest::precision) beside the same one without.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "jobs/devices/devices.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

/// Of real outputs: |rounded − f32| over the root mean square of the output in f32. Of all others:
/// 1 where an element differs.
struct RoundingError {
  struct Output {
    std::string name;
    double largest = 0, mean = 0;
  };
  Precision precision = Precision::kFloat32;
  std::size_t launches = 0, rounded_launches = 0;
  std::size_t samples = 0;
  std::vector<Output> outputs;

  double largest() const;  ///< Of all outputs.
  double mean() const;     ///< The largest mean of an output.
};

/// A graph on a device.
struct PlacedGraph {
  const core::Graph& graph;
  runtime::Backend& backend;
};
/// Compares the outputs of two graphs that compute the same, on ordinary inputs and on `inputs`.
/// Errors: those of compiling and running them.
core::Result<RoundingError> measure_rounding(PlacedGraph exact, PlacedGraph rounded,
                                             runtime::Fusion fusion, std::uint64_t seed,
                                             std::span<const std::vector<core::Literal>> inputs);

/// Counts the launches of a graph, and those whose kernels round to the precision of the error.
void count_rounded(const std::vector<cost::CostModel::Item>& launches, RoundingError& error);

}  // namespace soapstone::jobs
