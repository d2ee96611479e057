// The parts of a model file besides its nodes and weights. Private to models/: front ends hold it
// by pointer and never look inside.
#pragma once

#include "models/onnx/format/folded_nodes.h"
#include "models/onnx/format/model_notes.h"
#include "models/onnx/format/onnx_model.h"
#include "models/onnx/format/onnx_protobuf.h"
#include "models/onnx/format/onnx_types.h"
#include "models/onnx/format/original_nodes.h"

namespace soapstone::models {

class ModelHeader {
 public:
  ModelHeader(onnx::ModelProto model, bool external_weights)
      : skeleton(std::move(model)), has_external_weights(external_weights) {}

  /// The model without nodes, initializers and value_info; its inputs without initializers.
  onnx::ModelProto skeleton;
  /// Some weights were in files of their own.
  bool has_external_weights = false;
  /// Sizes of the symbolic dimensions, as settled when the model was read.
  DimensionSizes sizes;
  std::map<std::string, core::LiteralPtr> defaults;  ///< Of inputs that have one.
  bool contrib = false;                              ///< See models/onnx/writing/contrib.h.
  OriginalNodes originals;
  /// Nodes that were folded since sizes were known; null: the file leaves none open.
  std::shared_ptr<const FoldedNodes> folded;
  ModelNotes notes;
};

/// The doc string of the attribute of an opaque Constant that was a weight in the file.
inline constexpr const char* kWeightMark = "soapstone.weight";

/// The opset of the default domain; 0 if the model does not say.
int default_opset(const onnx::ModelProto& model);

}  // namespace soapstone::models
