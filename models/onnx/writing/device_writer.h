// Writes which devices hold what into the messages of nodes (IR version 11).
#pragma once

#include <span>

#include "models/onnx/format/device_annotations.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

class DeviceWriter {
 public:
  /// Adds the configuration to the model, and makes it one of IR version 11 or later. All have to
  /// outlive this.
  DeviceWriter(const core::Graph& graph, const TensorNames& names,
               const DeviceAnnotations& annotations, onnx::ModelProto& model);

  /// The messages from `first` on are what was written for these nodes of the graph.
  void annotate(int first, std::span<const core::NodeId> nodes);

 private:
  struct Found;
  Found of_nodes(std::span<const core::NodeId> nodes) const;

  const core::Graph& graph_;
  const TensorNames& names_;
  const DeviceAnnotations& annotations_;
  onnx::GraphProto& out_;
};

}  // namespace soapstone::models
