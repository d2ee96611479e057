// See library_proposals.h.
#include "gpu/targets/library_proposals.h"

#include "gpu/driver/stub_driver.h"
#include "gpu/forms/matrix_product.h"
#include "gpu/making/kernel_request.h"
#include "gpu/making/layout_choice.h"

namespace soapstone::gpu {
namespace {

/// True if the launch is a product that cuBLASLt is told.
bool is_matrix_product(const core::Graph& graph, const runtime::Launch& launch) {
  const auto region = runtime::generated::make_region(graph, launch.nodes(), launch.outputs);
  if (!region) return false;
  const auto product = product_of(*region, runtime::dims_of(graph.tensor(launch.outputs[0]).type));
  return product && matrix_product_of(*region, *product);
}

/// As backends lay images where nothing is measured: channels last in 16 bits.
TensorLayouts layouts_of(const core::Graph& graph, const runtime::Launch& launch) {
  const auto ways = layout_ways(graph, launch);
  const bool is_narrow = core::size_bytes(graph.tensor(launch.outputs[0]).type.data_type) == 2;
  const runtime::ConstantValue none = [](core::TensorId) { return core::LiteralPtr(); };
  return request_of(graph, launch, is_narrow ? ways.back() : ways.front(), none).layouts;
}

}  // namespace

std::shared_ptr<const Cudnn> cudnn_for_absent_cards() {
  if (!provide_driver()) return nullptr;
  auto loaded = load_cudnn();
  return loaded ? *std::move(loaded) : nullptr;
}

LibraryProposals::LibraryProposals(const Target& target, std::shared_ptr<const Cudnn> cudnn)
    : cudnn_(std::move(cudnn)) {
  if (!cudnn_) return;
  auto device = described_device(*cudnn_, cudnn_properties(target));
  if (device) device_.emplace(*std::move(device));
}

LibraryProposals::Answer LibraryProposals::ask(const core::Graph& graph,
                                               const runtime::Launch& launch) const {
  if (!device_ || is_matrix_product(graph, launch)) return {};
  const auto operations =
      operation_graph_of(graph, launch.nodes(), launch.outputs, layouts_of(graph, launch));
  if (!operations) return {false, {}, 1};
  const auto made = CudnnGraph::make(cudnn_, *operations);
  if (!made) return {false, {}, 1};
  for (const auto mode : {cudnn::HeuristicMode::kA, cudnn::HeuristicMode::kFallback}) {
    const auto configurations = made->configurations(*device_, mode, FloatMath::kExact);
    if (!configurations) return {};
    for (const CudnnDescriptor& configuration : *configurations) {
      const auto proposal = proposal_of(configuration);
      if (proposal && proposal->workspace_bytes <= GpuOptions{}.workspace_limit)
        return {true, *proposal, operations->runs};
    }
  }
  return {false, {}, 1};
}

}  // namespace soapstone::gpu
