// Constant expressions of single numbers become numbers at once, so that rules which name a number
// meet it: 1/√2 where a model divides by √2. So do those of tensors filled with one number: the
// zeros that a loop begins with, times a factor. What may stand for weights is none of these. Whole
// weights are folded when a model is written.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "ops/definition/by_role.h"
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

/// 0 and -0 are not.
bool is_same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

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
    if (folded_.empty() && filled_.empty()) return graph_;
    GraphBuilder builder(graph_);
    for (const auto& [id, value] : folded_)
      builder.replace_uses(id, builder.add_constant(value, graph_.tensor(id).name));
    for (const auto& [id, number] : filled_) {
      const auto made =
          ops::append_filled(builder, graph_.tensor(id).type.shape, *as_attribute(number));
      CHECK(made.ok(), "a filled tensor has the shape of another");
      builder.replace_uses(id, *made);
      builder.set_name(*made, graph_.tensor(id).name);
    }
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
      folded_.emplace(id,
                      literal({}, static_cast<float>(graph_.tensor(id).value->to_doubles()[0])));
    }
  }

  void fold(const Node& node) {
    if (node.inputs.empty() || ops::is_opaque(node)) return;
    if (node.outputs.size() != 1 || !is_number(graph_.tensor(node.outputs[0]).type)) {
      fill(node);
      return;
    }
    const TensorId result = node.outputs[0];
    if (graph_.is_output(result)) return;
    std::vector<LiteralPtr> numbers;
    for (const TensorId input : node.inputs) {
      if (!input.valid() || !is_number(graph_.tensor(input).type) || !value_of(input)) return;
      numbers.push_back(value_of(input));
    }
    const core::Dims dims(graph_.tensor(result).type.shape.size(), 1);
    if (const auto value = evaluate(node, numbers, graph_.tensor(result).type))
      folded_.emplace(result, literal(dims, *value));
  }

  static LiteralPtr literal(const core::Dims& dims, float number) {
    return std::make_shared<const Literal>(Literal::floats(dims, std::span(&number, 1)));
  }

  /// The number that a constant is or is filled with, but for what may stand for weights.
  std::optional<float> number_in(TensorId id) const {
    if (!id.valid() || graph_.tensor(id).type.data_type != core::DataType::kFloat32) return {};
    if (const auto known = filled_.find(id); known != filled_.end()) return known->second;
    const LiteralPtr value = value_of(id);
    if (value && is_number(graph_.tensor(id).type))
      return static_cast<float>(value->to_doubles()[0]);
    const core::NodeId producer = graph_.tensor(id).producer;
    if (!producer.valid() || graph_.node(producer).op->movement != core::Movement::kFill ||
        ops::stands_for_weights(graph_, graph_.node(producer)))
      return {};
    return static_cast<float>(ops::fill_value(graph_.node(producer)));
  }

  static bool keeps_numbers(core::Movement movement) {
    using enum core::Movement;
    return movement == kReshape || movement == kPermute || movement == kRepeat ||
           movement == kCut || movement == kSplit || movement == kJoin;
  }

  /// Of filled tensors: what moves them or does the same to each element.
  void fill(const Node& node) {
    const ops::OpDefinition* const op = ops::definition_of(node);
    const bool moves = keeps_numbers(node.op->movement);
    const bool computes = op != nullptr && op->op_class == ops::OpClass::kElementwise;
    const auto may_be_filled = [&](TensorId id) {
      const core::TensorType& type = graph_.tensor(id).type;
      return type.data_type == core::DataType::kFloat32 && type.shape_known &&
             core::concrete(type.shape) && !graph_.is_output(id);
    };
    if (!(moves || (computes && node.outputs.size() == 1)) ||
        !std::ranges::all_of(node.outputs, may_be_filled))
      return;
    std::vector<float> numbers;
    for (const TensorId input : node.inputs) {
      const auto number = number_in(input);
      if (!number) return;
      numbers.push_back(*number);
    }
    std::optional<float> number = numbers[0];
    if (computes) {
      std::vector<LiteralPtr> operands;
      for (const float one : numbers) operands.push_back(literal({}, one));
      number = evaluate(node, operands, core::TensorType{core::DataType::kFloat32, {}});
    } else if (!std::ranges::all_of(numbers, [&](float one) { return is_same(one, *number); })) {
      return;
    }
    if (!number || !as_attribute(*number)) return;
    for (const TensorId result : node.outputs) filled_.emplace(result, *number);
  }

  /// None: it is no finite number, and stays as it is written.
  static std::optional<float> evaluate(const Node& node, const std::vector<LiteralPtr>& operands,
                                       const core::TensorType& type) {
    GraphBuilder builder;
    std::vector<TensorId> inputs;
    for (const LiteralPtr& operand : operands) inputs.push_back(builder.add_constant(operand));
    const auto made = builder.add_node(*node.op, node.attributes, std::move(inputs), {type});
    builder.set_outputs(made);
    const auto alone = std::move(builder).finish();
    if (!alone) return std::nullopt;
    const auto values = ops::evaluate_graph<double>(*alone, {});
    if (!values || !std::isfinite(static_cast<float>((*values)[0][0]))) return std::nullopt;
    return static_cast<float>((*values)[0][0]);
  }

  const Graph& graph_;
  std::map<TensorId, LiteralPtr> folded_;
  std::map<TensorId, float> filled_;
};

}  // namespace

Graph fold_numbers(const Graph& graph) { return NumberFolding(graph).run(); }

}  // namespace soapstone::search
