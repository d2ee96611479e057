// Adam as its paper has it (D. Kingma and J. Ba, 2015, algorithm 1) and as frameworks compute it:
// epsilon is added after both moments were corrected for the first steps. ONNX's Adam, the operator
// `adam`, adds it before.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "parallel/training/training_step.h"

namespace soapstone::parallel {

class Adam {
 public:
  /// `step` counts from 1. Attributes are those of the operator `adam`. Nodes that are appended are
  /// added to `updates`. Borrows the builder and `updates`.
  Adam(core::GraphBuilder& builder, core::TensorId step, const core::Attributes& attributes,
       std::set<core::NodeId>& updates);

  /// Appends the update of a weight, from `decayed`, at a rate of its type; sets what is updated.
  core::Status append(core::TensorId rate, core::TensorId decayed, TrainedWeight& weight);

 private:
  core::TensorId node(const char* op, std::vector<core::TensorId> inputs,
                      const core::Attributes& attributes = {});
  core::TensorId number(double value, core::DataType type);
  /// 1 − decay^step, computed in doubles: little is left of 1 − 0.999.
  core::TensorId correction(double decay, core::DataType type);
  /// share·old + (1 − share)·new.
  core::TensorId mixed(double share, core::TensorId old, core::TensorId added);
  core::TensorId regularized(core::TensorId weight, core::TensorId gradient);

  core::GraphBuilder& builder_;
  core::TensorId step_;
  double beta1_, beta2_, epsilon_, decay_;
  std::set<core::NodeId>& updates_;
  std::map<std::pair<double, core::DataType>, core::TensorId> corrections_;
  std::optional<core::Error> error_;
};

}  // namespace soapstone::parallel
