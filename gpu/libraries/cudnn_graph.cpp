// See cudnn_graph.h.
#include "gpu/libraries/cudnn_graph.h"

#include <algorithm>

namespace soapstone::gpu {

using cudnn::Attribute;
using cudnn::Descriptor;
using cudnn::Type;

core::Result<CudnnDescriptor> described_device(const Cudnn& cudnn, std::string_view json) {
  CudnnDescriptor device(cudnn, Descriptor::kDeviceProperties);
  device.set(Attribute::kDeviceJson, Type::kChar, std::ssize(json), json.data());
  SOAPSTONE_RETURN_IF_ERROR(device.finalize());
  return device;
}

core::Result<CudnnDescriptor> present_device(const Cudnn& cudnn, int ordinal) {
  const std::int32_t number = ordinal;
  CudnnDescriptor device(cudnn, Descriptor::kDeviceProperties);
  device.set(Attribute::kDeviceNumber, Type::kInt32, 1, &number);
  SOAPSTONE_RETURN_IF_ERROR(device.finalize());
  return device;
}

CudnnGraph::CudnnGraph(std::shared_ptr<const Cudnn> cudnn, OperationGraph operations)
    : cudnn_(std::move(cudnn)), operations_(std::move(operations)),
      graph_(*cudnn_, Descriptor::kOperationGraph) {}

core::Result<CudnnGraph> CudnnGraph::make(std::shared_ptr<const Cudnn> cudnn,
                                          OperationGraph operations) {
  CudnnGraph graph(std::move(cudnn), std::move(operations));
  SOAPSTONE_ASSIGN_OR_RETURN(graph.descriptors_, make_operations(*graph.cudnn_, graph.operations_));
  SOAPSTONE_RETURN_IF_ERROR(
      graph.graph_.set(Attribute::kGraphOperations, graph.descriptors_.operations).finalize());
  return graph;
}

core::Result<std::int64_t> CudnnGraph::engine_count() const {
  return graph_.integer(Attribute::kGraphEngineCount);
}

core::Result<bool> CudnnGraph::computes_so(const CudnnDescriptor& configuration,
                                           FloatMath math) const {
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::vector<CudnnDescriptor> engines,
      configuration.descriptors(Attribute::kConfigurationEngine, Descriptor::kEngine));
  if (engines.empty()) return false;
  constexpr std::int64_t kMostNotes = 16;
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::vector<int> notes,
      engines[0].numbers(Attribute::kEngineNumericalNote, Type::kNumericalNote, kMostNotes));
  const auto says = [&](cudnn::NumericalNote note) {
    return std::find(notes.begin(), notes.end(), static_cast<int>(note)) != notes.end();
  };
  const bool rounds = operations_.tensors[0].data_type == core::DataType::kFloat32 &&
                      says(cudnn::NumericalNote::kTensorCore);
  return !says(cudnn::NumericalNote::kDownConvertInputs) &&
         (math == FloatMath::kTensorFloat32 || !rounds);
}

core::Result<std::vector<CudnnDescriptor>> CudnnGraph::configurations(const CudnnDescriptor& device,
                                                                      cudnn::HeuristicMode mode,
                                                                      FloatMath math) const {
  CudnnDescriptor heuristics(*cudnn_, Descriptor::kHeuristics);
  heuristics.set(Attribute::kHeuristicsGraph, graph_)
      .set(Attribute::kHeuristicsMode, Type::kHeuristicMode, mode)
      .set(Attribute::kHeuristicsDeviceProperties, device);
  SOAPSTONE_RETURN_IF_ERROR(heuristics.finalize());
  SOAPSTONE_ASSIGN_OR_RETURN(
      std::vector<CudnnDescriptor> proposed,
      heuristics.descriptors(Attribute::kHeuristicsResults, Descriptor::kEngineConfiguration));
  std::vector<CudnnDescriptor> admitted;
  for (CudnnDescriptor& configuration : proposed) {
    SOAPSTONE_ASSIGN_OR_RETURN(const bool fits, computes_so(configuration, math));
    if (fits) admitted.push_back(std::move(configuration));
  }
  return admitted;
}

core::Result<CudnnPlan> make_plan(const Cudnn& cudnn, const CudnnDescriptor& configuration,
                                  const CudnnDescriptor& device) {
  CudnnPlan plan{CudnnDescriptor(cudnn, Descriptor::kPlan), 0};
  plan.descriptor.set(Attribute::kPlanConfiguration, configuration)
      .set(Attribute::kPlanDeviceProperties, device);
  SOAPSTONE_RETURN_IF_ERROR(plan.descriptor.finalize());
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t bytes,
                             plan.descriptor.integer(Attribute::kPlanWorkspace));
  plan.workspace_bytes = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
  return plan;
}

}  // namespace soapstone::gpu
