#include "parallel/pieces/part_graphs.h"

#include "ops/restriction/restrict.h"

namespace soapstone::parallel {
namespace {

TensorPiece whole_piece(const core::Graph& graph, core::TensorId id) {
  return id.valid() ? TensorPiece::whole(*core::concrete(graph.tensor(id).type.shape))
                    : TensorPiece();
}

}  // namespace

core::Result<const NodePart*> PartGraphs::of(core::NodeId id, const ops::PartBox& box) {
  const void* const analysis = loops_.spaces[id.index()].digits.get();
  Key key{analysis ? analysis : &graph_.node(id), {}};
  for (const ops::Interval& interval : box) {
    key.second.push_back(interval.low);
    key.second.push_back(interval.high);
  }
  const auto known = known_.find(key);
  if (known != known_.end()) return &known->second;
  SOAPSTONE_ASSIGN_OR_RETURN(NodePart part, made(id, box));
  return &known_.emplace(std::move(key), std::move(part)).first->second;
}

core::Result<NodePart> PartGraphs::made(core::NodeId id, const ops::PartBox& box) const {
  const ops::PartitionSpace& space = loops_.spaces[id.index()];
  if (box == ops::whole_box(space)) return whole(id);
  auto part = ops::restrict_to(graph_, id, space, box);
  if (!part) {
    core::Error error = part.error();
    const core::Node& node = graph_.node(id);
    error.where = node.name.empty() ? std::string(node.op->name) : node.name;
    return error;
  }
  NodePart result{std::move(part->graph), std::move(part->inputs), {}, {}};
  for (const ops::DigitRegion& region : part->regions.inputs)
    result.pieces_read.push_back(TensorPiece::of(region));
  for (const ops::DigitRegion& region : part->regions.outputs)
    result.pieces_made.push_back(TensorPiece::of(region));
  return result;
}

NodePart PartGraphs::whole(core::NodeId id) const {
  const core::Node& node = graph_.node(id);
  NodePart part;
  core::GraphBuilder builder;
  std::vector<core::TensorId> operands;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    part.pieces_read.push_back(whole_piece(graph_, node.inputs[k]));
    operands.push_back(core::TensorId::none());
    if (!node.inputs[k].valid()) continue;
    operands.back() =
        builder.add_input("x" + std::to_string(k), graph_.tensor(node.inputs[k]).type);
    part.inputs.push_back(k);
  }
  std::vector<core::TensorType> types;
  for (const core::TensorId output : node.outputs) {
    part.pieces_made.push_back(whole_piece(graph_, output));
    types.push_back(graph_.tensor(output).type);
  }
  builder.set_outputs(
      builder.add_node(*node.op, node.attributes, std::move(operands), std::move(types)));
  auto made = std::move(builder).finish();
  CHECK(made.ok(), "a node is a graph");
  part.graph = *std::move(made);
  return part;
}

std::vector<core::TensorId> append_graph(core::GraphBuilder& builder, const core::Graph& graph,
                                         const std::vector<core::TensorId>& inputs) {
  std::map<core::TensorId, core::TensorId> copies;
  for (std::size_t k = 0; k < inputs.size(); ++k) copies.emplace(graph.inputs()[k], inputs[k]);
  const auto copy_of = [&](core::TensorId id) {
    if (!id.valid()) return id;
    const auto [at, is_new] = copies.try_emplace(id);
    if (is_new) at->second = builder.add_constant(graph.tensor(id).value);
    return at->second;
  };
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::vector<core::TensorId> operands;
    for (const core::TensorId input : node.inputs) operands.push_back(copy_of(input));
    std::vector<core::TensorType> types;
    for (const core::TensorId output : node.outputs) types.push_back(graph.tensor(output).type);
    const std::vector<core::TensorId> made =
        builder.add_node(*node.op, node.attributes, std::move(operands), std::move(types));
    for (std::size_t k = 0; k < made.size(); ++k) copies[node.outputs[k]] = made[k];
  }
  std::vector<core::TensorId> outputs;
  for (const core::TensorId output : graph.outputs()) outputs.push_back(copy_of(output));
  return outputs;
}

core::TensorId append_constant(core::GraphBuilder& builder, const core::Graph& graph,
                               core::TensorId tensor) {
  const core::Tensor& constant = graph.tensor(tensor);
  if (constant.value) return builder.add_constant(constant.value);
  const core::Node& node = graph.node(constant.producer);
  std::vector<core::TensorId> operands;
  for (const core::TensorId input : node.inputs)
    operands.push_back(input.valid() ? append_constant(builder, graph, input) : input);
  std::vector<core::TensorType> types;
  for (const core::TensorId output : node.outputs) types.push_back(graph.tensor(output).type);
  return builder.add_node(*node.op, node.attributes, std::move(operands),
                          std::move(types))[constant.output_index];
}

}  // namespace soapstone::parallel
