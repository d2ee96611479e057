// Estimates of launches that could not be timed: a roofline through three launches that
// could.
#pragma once

#include <functional>
#include <optional>

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"

namespace soapstone::cost {

/// The measured time of a graph of one launch, or none.
using TimeOfGraph = std::function<std::optional<double>(const core::Graph&)>;

/// An ordinary processor core.
RooflineParameters one_core();

/// Whether something took so much longer than that core would need that it has likely waited for a
/// core that others had. What is doubtful is timed again, kMostRepeats times at most.
bool is_doubtful(double us, double roofline_us);
inline constexpr int kMostRepeats = 2;

/// A tiny addition gives the overhead of a launch, a matmul the arithmetic, a large addition the
/// traffic. What cannot be timed keeps the value of an ordinary processor core.
RooflineParameters calibrate(const TimeOfGraph& time_us);

/// The product by which the rate of arithmetic is measured.
struct LargeProduct {
  core::Graph graph;
  double flops = 0;
};
LargeProduct large_product();

}  // namespace soapstone::cost
