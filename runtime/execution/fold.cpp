// See fold.h.
#include "runtime/execution/fold.h"

#include "runtime/memory/aligned_block.h"

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
    const Launch launch = grow_launch(graph_, id, generic_fusion(Fusion::kNone));
    LaunchLayouts layouts;
    layouts.inputs.assign(launch.inputs.size(), Layout::kRowMajor);
    layouts.outputs.assign(launch.outputs.size(), Layout::kRowMajor);
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel, backend_.compile(graph_, launch, layouts, {}, nullptr));
    return run(*kernel, launch);
  }

  core::Status run(Kernel& kernel, const Launch& launch) {
    std::vector<const std::byte*> inputs;
    for (TensorId input : launch.inputs) inputs.push_back(value(input)->bytes().data());
    std::vector<std::byte*> outputs;
    std::vector<AlignedBlock> blocks;
    for (TensorId output : launch.outputs) {
      SOAPSTONE_ASSIGN_OR_RETURN(AlignedBlock block,
                                 AlignedBlock::allocate(storage_bytes(graph_.tensor(output).type)));
      outputs.push_back(block.data());
      blocks.push_back(std::move(block));
    }
    SOAPSTONE_ASSIGN_OR_RETURN(AlignedBlock scratch,
                               AlignedBlock::allocate(kernel.scratch_bytes()));
    SOAPSTONE_RETURN_IF_ERROR(kernel.run(inputs, outputs, scratch.data()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const core::TensorType& type = graph_.tensor(launch.outputs[i]).type;
      auto owner = std::make_shared<const AlignedBlock>(std::move(blocks[i]));
      const std::span<const std::byte> bytes(outputs[i], storage_bytes(type));
      values_[launch.outputs[i]] = std::make_shared<const core::Literal>(
          core::Literal::view(type.data_type, dims_of(type), bytes, std::move(owner)));
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
