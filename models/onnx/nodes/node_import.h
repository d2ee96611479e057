// One ONNX node as the mappings in ops/, which know no protobuf, see it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/onnx/format/onnx_protobuf.h"
#include "models/onnx/format/onnx_weights.h"
#include "ops/definition/onnx_mapping.h"

namespace soapstone::models {

/// Integers larger than this in attributes and parameters are left to opaque nodes.
inline constexpr std::int64_t kLargestParameter = std::int64_t{1} << 30;

/// Everything that is passed in must outlive it.
class NodeImport final : public ops::OnnxImport {
 public:
  /// A mapping appends to `builder`. `inputs` are tensors of it, one for each input of
  /// the node; TensorId::none() for one that is left out.
  NodeImport(const onnx::NodeProto& node, int opset, core::GraphBuilder& builder,
             std::vector<core::TensorId> inputs, ExternalFiles& files)
      : node_(node), opset_(opset), builder_(builder), inputs_(std::move(inputs)), files_(files) {}

  /// Must be called first. Errors: kUnsupported if a number is too large to calculate with;
  /// kInvalidInput if an attribute's tensor is broken.
  core::Status read_attributes();

  int opset() const override { return opset_; }
  std::string_view op_type() const override { return node_.op_type(); }
  const ops::OnnxAttribute* attribute(std::string_view name) const override;
  std::size_t input_count() const override { return inputs_.size(); }
  std::size_t output_count() const override {
    return static_cast<std::size_t>(node_.output_size());
  }
  core::TensorId input(std::size_t k) const override {
    return k < inputs_.size() ? inputs_[k] : core::TensorId::none();
  }
  core::LiteralPtr constant_input(std::size_t k) const override;
  const core::TensorType& type(core::TensorId id) const override {
    return builder_.tensor(id).type;
  }
  core::TensorId constant(core::Literal value) override;
  core::Result<std::vector<core::TensorId>> append(std::string_view op,
                                                   std::vector<core::TensorId> inputs,
                                                   core::Attributes attributes) override;

  /// The nodes of ours that were appended so far.
  const std::vector<core::NodeId>& appended() const { return appended_; }

 private:
  core::Result<std::optional<ops::OnnxAttribute>> convert(const onnx::AttributeProto& attribute);
  /// Slice and Shape clamp their ends themselves; INT64_MAX there is how exporters write "to the
  /// end".
  bool may_be_large() const { return node_.op_type() == "Slice" || node_.op_type() == "Shape"; }

  const onnx::NodeProto& node_;
  int opset_;
  core::GraphBuilder& builder_;
  std::vector<core::TensorId> inputs_;
  ExternalFiles& files_;
  std::map<std::string, ops::OnnxAttribute, std::less<>> attributes_;
  std::vector<core::NodeId> appended_;
};

}  // namespace soapstone::models
