// Tells contractions with weights from those of data with data, and finds the large tensors between
// two of the latter, such as scores of attention.
#pragma once

#include <optional>
#include <vector>

#include "parallel/work/step_work.h"

namespace soapstone::parallel {

/// Whether a weight is one of its operands, or a constant.
bool contracts_weight(const core::Graph& graph, core::NodeId id, const StepWork& work);

/// The tensors from a contraction of data to the next one, if `id` is the first of two.
std::optional<std::vector<core::TensorId>> scores_behind(const core::Graph& graph, core::NodeId id,
                                                         const StepWork& work);

/// The same where the first makes more than it reads.
std::optional<std::vector<core::TensorId>> attention_behind(const core::Graph& graph,
                                                            core::NodeId id, const StepWork& work);

}  // namespace soapstone::parallel
