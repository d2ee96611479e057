// See fold.h.
#include "runtime/execution/fold.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::LiteralPtr;
using core::NodeId;
using core::TensorId;

class Folding {
 public:
  Folding(const Graph& graph, Backend& backend) : graph_(graph), backend_(backend) {}

  core::Result<FoldedConstants> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(queue_, backend_.make_queue());
    for (NodeId id : graph_.order()) {
      if (!graph_.is_constant_expression(id)) continue;
      if (auto done = compute(id); !done) return done.error().at(graph_.node(id).name);
    }
    std::erase_if(values_, [&](const auto& entry) { return !is_needed(entry.first); });
    return std::move(values_);
  }

 private:
  core::Status compute(NodeId id) {
    const core::Node& node = graph_.node(id);
    if (node.op->movement == core::Movement::kReshape) {  // Shares the bytes of a large weight.
      const core::Dims dims = dims_of(graph_.tensor(node.outputs[0]).type);
      values_[node.outputs[0]] =
          std::make_shared<const core::Literal>(value(node.inputs[0])->reshaped(dims));
      return core::Done{};
    }
    const Launch launch = grow_launch(graph_, id, backend_.fusion(Fusion::kNone));
    LaunchLayouts layouts;
    layouts.inputs.assign(launch.inputs.size(), Layout::kRowMajor);
    layouts.outputs.assign(launch.outputs.size(), Layout::kRowMajor);
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel, backend_.compile(graph_, launch, layouts, {}, nullptr));
    return run(*kernel, launch);
  }

  core::Status run(Kernel& kernel, const Launch& launch) {
    DeviceMemory& memory = backend_.memory();
    KernelCall call{.kernel = &kernel};
    std::vector<DeviceBlock> read, written;
    for (TensorId input : launch.inputs) {
      SOAPSTONE_ASSIGN_OR_RETURN(DeviceBlock block, memory.share(value(input)->bytes()));
      call.inputs.push_back(block.address());
      read.push_back(std::move(block));
    }
    for (TensorId output : launch.outputs) {
      SOAPSTONE_ASSIGN_OR_RETURN(
          DeviceBlock block,
          DeviceBlock::allocate(memory, storage_bytes(graph_.tensor(output).type)));
      call.outputs.push_back(block.address());
      written.push_back(std::move(block));
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const DeviceBlock scratch,
                               DeviceBlock::allocate(memory, kernel.scratch_bytes()));
    call.scratch = scratch.address();
    queue_->enqueue({&call, 1});
    SOAPSTONE_RETURN_IF_ERROR(queue_->wait());
    for (std::size_t i = 0; i < written.size(); ++i) {
      const core::TensorType& type = graph_.tensor(launch.outputs[i]).type;
      SOAPSTONE_ASSIGN_OR_RETURN(HostBytes host,
                                 memory.hand_over(std::move(written[i]), storage_bytes(type)));
      values_[launch.outputs[i]] = std::make_shared<const core::Literal>(
          core::Literal::view(type.data_type, dims_of(type), host.bytes, std::move(host.owner)));
    }
    return core::Done{};
  }

  LiteralPtr value(TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    return tensor.value ? tensor.value : values_.at(id);
  }

  bool is_needed(TensorId id) const {
    if (graph_.is_output(id)) return true;
    for (NodeId reader : graph_.consumers(id)) {
      if (!graph_.is_constant_expression(reader)) return true;
    }
    return false;
  }

  const Graph& graph_;
  Backend& backend_;
  std::unique_ptr<Queue> queue_;
  FoldedConstants values_;
};

}  // namespace

core::Result<FoldedConstants> fold_constants(const Graph& graph, Backend& backend) {
  return Folding(graph, backend).run();
}

ConstantValue constant_value(const Graph& graph, const FoldedConstants& folded) {
  return [&graph, &folded](TensorId id) -> LiteralPtr {
    if (const LiteralPtr& value = graph.tensor(id).value) return value;
    const auto found = folded.find(id);
    return found == folded.end() ? nullptr : found->second;
  };
}

}  // namespace soapstone::runtime
