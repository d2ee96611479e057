// Times one kernel of a backend alone, on made-up data.
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "cost/timing/timing.h"
#include "runtime/launches/backend.h"

namespace soapstone::cost {

/// Constants get random values too: times do not depend on them, and folded ones have none yet.
/// Errors: kUnsupported (opaque or sizes not known), kUnavailable (not enough memory), or whatever
/// keeps the backend from compiling it.
core::Result<Measurement> time_launch(runtime::Backend& backend, const core::Graph& graph,
                                      const runtime::Launch& launch,
                                      const runtime::LaunchLayouts& layouts,
                                      const TimingOptions& options);
core::Result<Measurement> time_conversion(runtime::Backend& backend, const core::TensorType& type,
                                          runtime::Layout from, runtime::Layout to,
                                          const TimingOptions& options);

}  // namespace soapstone::cost
