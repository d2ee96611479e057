// The types of what a body reads. Private to models/: bodies.cpp makes models with them.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/onnx/reading/inference_process.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

/// An input of a body's model.
struct TypedInput {
  std::string name;
  onnx::TypeProto type;       ///< A dimension without a number may have any size.
  core::Dims sizes;           ///< Those for which the body is optimized.
  core::LiteralPtr value;     ///< If set, it is a constant and no input.
  core::TensorId outer = {};  ///< Body::inputs
};

/// The body as a model whose inputs are these.
ExportedModel model_of_body(const onnx::ModelProto& document, const onnx::GraphProto& body,
                            std::span<const TypedInput> inputs);

/// The graph with the types that ONNX's own inference finds, also in bodies. Large weights are not
/// in it. Errors: those of InferenceProcess::infer().
core::Result<onnx::GraphProto> with_inferred_types(const ExportedModel& model,
                                                   InferenceProcess& inference);

/// The tensors around a body.
class OuterTensors {
 public:
  /// Both must outlive it; `graph` was read of the document. Errors: those of
  /// with_inferred_types().
  static core::Result<OuterTensors> make(const ExportedModel& document, const core::Graph& graph,
                                         InferenceProcess& inference);
  /// Sizes that the document leaves open are open. Errors: kUnsupported: it is no tensor, or
  /// nothing is known of its sizes.
  core::Result<TypedInput> typed(const std::string& name, core::TensorId id) const;
  /// The same, or the constant that the tensor is in every run.
  core::Result<TypedInput> captured(const std::string& name, core::TensorId id) const;

 private:
  OuterTensors(const ExportedModel& document, const core::Graph& graph);

  const core::Graph& graph_;
  std::map<std::string, onnx::TypeProto> inferred_;
  std::set<std::string> constants_;  ///< Initializers that no input replaces.
  bool is_closed_ = true;            ///< Nothing about a run can change a size or a constant.
};

/// Sizes of carried inputs become open where an iteration may change them: one that makes of a size
/// the same size keeps it in all iterations. `carried`: Body::carried.
/// Errors: those of with_inferred_types(); kUnsupported if the number of dimensions may change.
core::Status open_what_changes(const onnx::ModelProto& document, const onnx::GraphProto& body,
                               std::span<const std::pair<std::size_t, std::size_t>> carried,
                               std::vector<TypedInput>& inputs, InferenceProcess& inference);

}  // namespace soapstone::models
