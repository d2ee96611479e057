#include "rules/moves/steps_of_products.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "rules/moves/contraction_labels.h"
#include "rules/moves/dimension_groups.h"
#include "rules/moves/move_text.h"
#include "rules/moves/moves.h"

namespace soapstone::rules {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::TensorId;

/// Of a launch, in front of the reshape.
constexpr int kMostSteps = 4;

constexpr std::string_view kStepDescription =
    "What is done to each element of a reshaped tensor is done to the tensor itself.";

/// An operand that is broadcast to `to`, as it is broadcast to `from`, which has the same elements:
/// its shape there. None: it repeats what `from` does not have as dimensions of its own.
std::optional<Sizes> shape_before(Sizes operand, const Sizes& from, const Sizes& to) {
  operand.insert(operand.begin(), to.size() - operand.size(), 1);
  Sizes before;
  for (const DimensionGroup& group : dimension_groups(from, to)) {
    const auto part = [&](const Sizes& sizes) {
      return std::span(sizes).subspan(group.to.first, group.to.count());
    };
    const bool is_whole = std::ranges::equal(part(to), part(operand));
    const bool is_repeated =
        std::ranges::all_of(part(operand), [](std::int64_t n) { return n == 1; });
    if (!is_whole && !is_repeated) return std::nullopt;
    for (std::size_t d = group.from.first; d < group.from.end; ++d)
      before.push_back(is_whole ? from[d] : 1);
  }
  return before;
}

class StepFinder {
 public:
  explicit StepFinder(const Graph& graph) : graph_(graph) {}

  std::optional<RewritePlan> plan_for(const Node& node) const {
    if (node.op->is_opaque() || node.inputs.size() != 2 || node.outputs.size() != 1 ||
        !std::ranges::all_of(node.inputs, &TensorId::valid) || !has_known_sizes(graph_, node) ||
        ops::definition_of(node)->op_class != ops::OpClass::kElementwise)
      return std::nullopt;
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      const TensorId product = product_behind(node.inputs[k]);
      if (!product.valid() || shape(node.inputs[k]) != shape(node.outputs[0])) continue;
      auto text = rule_for(node, k, product);
      if (!text) continue;
      return RewritePlan{{PlanStep{
          .results = node.outputs, .texts = {*std::move(text)}, .description = kStepDescription}}};
    }
    return std::nullopt;
  }

 private:
  Sizes shape(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  /// What is reshaped to that tensor, if it is a contraction that nothing else reads. None: it is
  /// not.
  TensorId product_behind(TensorId id) const {
    bool is_reshaped = false;
    for (;; is_reshaped = true) {
      const core::NodeId producer = graph_.tensor(id).producer;
      if (!producer.valid() || graph_.is_output(id) || graph_.consumers(id).size() != 1 ||
          graph_.is_constant_expression(id))
        return TensorId::none();
      const Node& node = graph_.node(producer);
      if (node.op->is_opaque()) return TensorId::none();
      if (node.op->movement != Movement::kReshape)
        return is_reshaped && is_head(node, kMostSteps) ? id : TensorId::none();
      id = node.inputs[0];
    }
  }
  /// A contraction, or that many steps behind one.
  bool is_head(const Node& node, int steps) const {
    const ops::OpClass kind = ops::definition_of(node)->op_class;
    if (kind == ops::OpClass::kContraction || is_equation(node)) return true;
    if (kind != ops::OpClass::kElementwise || steps == 0) return false;
    return std::ranges::any_of(node.inputs, [&](TensorId id) {
      const core::NodeId producer = id.valid() ? graph_.tensor(id).producer : core::NodeId::none();
      return producer.valid() && !graph_.node(producer).op->is_opaque() &&
             graph_.consumers(id).size() == 1 && is_head(graph_.node(producer), steps - 1);
    });
  }

  std::optional<std::string> rule_for(const Node& node, std::size_t k, TensorId product) const {
    const TensorId other = node.inputs[1 - k];
    const Sizes from = shape(product), to = shape(node.outputs[0]), own = shape(other);
    const auto before = shape_before(own, from, to);
    if (!before) return std::nullopt;
    const std::string head =
        fmt::format("  x0: {}\n  x1: {}\n", declared(graph_.tensor(product).type, names_of(from)),
                    declared(graph_.tensor(other).type, names_of(own)));
    SideText source, target;
    Names given{"x1", "x1"}, moved = given;
    given[k] = reshaped_as_there(source, product, node.inputs[k]);
    moved[k] = "x0";
    moved[1 - k] = target.reshaped("x1", names_of(own), names_of(*before));
    const std::string y = source.line(call_of(graph_, node, given));
    const std::string t = target.line(call_of(graph_, node, moved));
    return rule_text(fmt::format("{}{}", kMovesPrefix, node.op->name), head, source, {y}, target,
                     {target.reshaped(t, names_of(from), names_of(to))});
  }

  /// All reshapes from the product to the operand.
  std::string reshaped_as_there(SideText& source, TensorId product, TensorId id) const {
    if (id == product) return "x0";
    const Node& node = graph_.node(graph_.tensor(id).producer);
    return source.line(call_of(graph_, node, {reshaped_as_there(source, product, node.inputs[0])}));
  }

  const Graph& graph_;
};

}  // namespace

std::vector<RewritePlan> find_steps_of_products(const Graph& graph) {
  std::vector<RewritePlan> plans;
  const StepFinder finder(graph);
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    if (auto plan = finder.plan_for(graph.node(id))) plans.push_back(*std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::rules
