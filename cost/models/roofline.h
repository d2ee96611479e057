// The least work of a launch: the operations it must perform and the bytes it must move.
#pragma once

#include "core/graph/graph.h"
#include "cost/models/cost_model.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::cost {

struct LaunchWork {
  double flops = 0;
  double bytes = 0;
};

/// Flops of all its nodes; bytes of its inputs and outputs, each once. What lies between head and
/// epilogue stays in registers. An operator that only moves elements reads no more than it writes:
/// a row looked up in a table does not cost the table. A tensor of unknown shape counts nothing.
LaunchWork launch_work(const core::Graph& graph, const runtime::Launch& launch);

/// Rounded to 2⁻²⁰ us, so that a sum of costs does not depend on the order of its terms.
double roofline_us(const LaunchWork& work, const RooflineParameters& parameters);
/// The same rounding for any cost.
double rounded_us(double cost_us);

}  // namespace soapstone::cost
