// Summarizes a model without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/format/onnx_model.h"
#include "runtime/launches/launch_plan.h"

namespace soapstone::jobs {

struct OperatorCount {
  std::string name;
  std::size_t nodes = 0;
  double flops = 0;
};

struct GraphSummary {
  std::size_t nodes = 0;   ///< All of the below.
  std::size_t folded = 0;  ///< Computed from constants alone, once when the model is loaded.
  std::size_t views = 0;   ///< Cost nothing when run.
  std::vector<OperatorCount> operators;  ///< Most work first, then most nodes.
  std::size_t constants = 0;
  double parameters = 0;  ///< Elements of all constants.
  double parameter_bytes = 0;
  double flops = 0;  ///< Operations of one inference.
  double bytes = 0;  ///< Bytes that its launches read and write.
  std::size_t launches = 0;
  /// Most that is live at once; none if a size is not known.
  std::optional<double> peak_activation_bytes;
  /// Tensors in which NaN and infinities matter (ops::SpecialValues), in the order of their nodes.
  std::vector<std::string> specials_matter_in;
};

GraphSummary summarize(const core::Graph& graph, runtime::Fusion fusion);

}  // namespace soapstone::jobs
