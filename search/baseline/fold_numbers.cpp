// Constant expressions of single numbers become numbers at once, so that rules which name a number
// meet it: 1/√2 where a model divides by √2. Whole weights are folded when a model is written.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::Literal;
using core::LiteralPtr;
using core::Node;
using core::TensorId;

bool is_number(const core::TensorType& type) {
  return type.data_type == core::DataType::kFloat32 && type.shape_known &&
         std::ranges::all_of(type.shape, [](const core::Size& size) { return size == 1; });
}

class NumberFolding {
 public:
  explicit NumberFolding(const Graph& graph) : graph_(graph) {}

  Graph run() {
    for (const core::NodeId id : graph_.order()) fold(graph_.node(id));
    for (const core::NodeId id : graph_.order()) drop_idle_dimensions(graph_.node(id));
    if (folded_.empty()) return graph_;
    GraphBuilder builder(graph_);
    for (const auto& [id, value] : folded_)
      builder.replace_uses(id, builder.add_constant(value, graph_.tensor(id).name));
    auto result = std::move(builder).finish();
    CHECK(result.ok(), "folding numbers cannot break a graph");
    return *std::move(result);
  }

 private:
  LiteralPtr value_of(TensorId id) const {
    const auto known = folded_.find(id);
    return known != folded_.end() ? known->second : graph_.tensor(id).value;
  }

  /// Whether it is a number with dimensions of size 1 that no reader needs: all of them combine it
  /// with a tensor of as many dimensions.
  bool has_idle_dimensions(TensorId id) const {
    const core::Tensor& tensor = graph_.tensor(id);
    if (!tensor.value || !is_number(tensor.type) || tensor.type.shape.empty()) return false;
    const auto is_idle = [&](core::NodeId reader) {
      const Node& node = graph_.node(reader);
      const ops::OpDefinition* op = ops::definition_of(node);
      return op != nullptr && op->op_class == ops::OpClass::kElementwise &&
             std::ranges::any_of(node.inputs, [&](TensorId input) {
               if (!input.valid() || input == id) return false;
               const core::TensorType& other = graph_.tensor(input).type;
               return other.shape_known && other.shape.size() >= tensor.type.shape.size() &&
                      std::ranges::any_of(other.shape,
                                          [](const core::Size& size) { return size != 1; });
             });
    };
    const auto& readers = graph_.consumers(id);
    return !graph_.is_output(id) && !readers.empty() && std::ranges::all_of(readers, is_idle);
  }

  void drop_idle_dimensions(const Node& node) {
    for (const TensorId id : node.inputs) {
      if (!id.valid() || folded_.contains(id) || !has_idle_dimensions(id)) continue;
      const auto number = static_cast<float>(graph_.tensor(id).value->to_doubles()[0]);
      folded_.emplace(id,
                      std::make_shared<const Literal>(Literal::floats({}, std::span(&number, 1))));
    }
  }

  void fold(const Node& node) {
    if (node.inputs.empty() || ops::is_opaque(node) || node.outputs.size() != 1) return;
    const TensorId result = node.outputs[0];
    if (graph_.is_output(result) || !is_number(graph_.tensor(result).type)) return;
    for (const TensorId input : node.inputs)
      if (!input.valid() || !is_number(graph_.tensor(input).type) || !value_of(input)) return;
    if (const auto value = evaluate(node)) {
      const core::Dims dims(graph_.tensor(result).type.shape.size(), 1);
      folded_.emplace(
          result, std::make_shared<const Literal>(Literal::floats(dims, std::span(&*value, 1))));
    }
  }

  /// None: it is no finite number, and stays as it is written.
  std::optional<float> evaluate(const Node& node) const {
    GraphBuilder builder;
    std::vector<TensorId> inputs;
    for (const TensorId input : node.inputs)
      inputs.push_back(builder.add_constant(value_of(input)));
    const auto made = builder.add_node(*node.op, node.attributes, std::move(inputs),
                                       {graph_.tensor(node.outputs[0]).type});
    builder.set_outputs(made);
    const auto alone = std::move(builder).finish();
    if (!alone) return std::nullopt;
    const auto values = ops::evaluate_graph<double>(*alone, {});
    if (!values || !std::isfinite(static_cast<float>((*values)[0][0]))) return std::nullopt;
    return static_cast<float>((*values)[0][0]);
  }

  const Graph& graph_;
  std::map<TensorId, LiteralPtr> folded_;
};

}  // namespace

Graph fold_numbers(const Graph& graph) { return NumberFolding(graph).run(); }

}  // namespace soapstone::search
