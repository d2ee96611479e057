// Replays the proof that optimize-graph wrote, from one model to the other.
#pragma once

#include <string>
#include <vector>

#include "jobs/models/model_files.h"
#include "models/onnx/format/onnx_model.h"
#include "runtime/launches/backend.h"

namespace soapstone::jobs {

struct ProofCheck {
  std::size_t steps = 0;
  std::size_t rules = 0;   ///< Distinct ones.
  std::size_t proofs = 0;  ///< Rules, for each value of their parameters.
  double proof_cpu_ms = 0;
};

/// `shapes` as they were given for both models; `allow_range_changes` as in optimize-graph. Errors:
/// kInvalidInput if the file is no chain; kNotEquivalent if a step of it does not hold, which
/// `where` names, or if it leads from `a` to another model than `b`.
core::Result<ProofCheck> check_proof(const std::string& path, const models::OnnxModel& a,
                                     const models::OnnxModel& b, const Shapes& shapes,
                                     bool allow_range_changes, runtime::Backend& backend,
                                     const Context& context);

}  // namespace soapstone::jobs
