#include "transforms/contract/quotients.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "transforms/contract/rule_head.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::string_view kQuotientDescription = "A product with an inverse is a quotient.";

bool is_view(const Node& node) {
  return node.op->movement == Movement::kReshape || node.op->movement == Movement::kPermute ||
         node.op->movement == Movement::kRepeat;
}

class QuotientWriter {
 public:
  QuotientWriter(const Graph& graph, NodeId inverse) : graph_(graph), inverse_(inverse) {}

  /// No steps: something else reads it.
  RewriteSequence plan() {
    RewriteSequence plan;
    if (!take_readers(graph_.node(inverse_).outputs[0], {}, plan)) plan.steps.clear();
    return plan;
  }

 private:
  using Views = std::vector<const Node*>;

  bool take_readers(TensorId id, const Views& views, RewriteSequence& plan) {
    if (graph_.is_output(id)) return false;
    for (const NodeId reader : graph_.consumers(id)) {
      const Node& node = graph_.node(reader);
      if (node.op->is_opaque() || !has_known_sizes(graph_, node)) return false;
      if (is_view(node) && node.inputs[0] == id) {
        Views further = views;
        further.push_back(&node);
        if (!take_readers(node.outputs[0], further, plan)) return false;
        continue;
      }
      const bool is_product = ops::arithmetic_of(*node.op) == ops::Arithmetic::kProduct &&
                              node.inputs[0] != node.inputs[1];
      if (!is_product) return false;
      plan.steps.push_back({.results = {node.outputs[0]},
                            .texts = {text(node, id, views)},
                            .description = kQuotientDescription,
                            .floats = FloatBehavior::kReassociates});
    }
    return true;
  }

  std::string text(const Node& product, TensorId factor, const Views& views) const {
    const Node& inverse = graph_.node(inverse_);
    const std::size_t place = product.inputs[0] == factor ? 0 : 1;
    RuleHead head(graph_);
    head.declare(inverse.inputs[0]);
    head.declare(product.inputs[1 - place]);
    SideText source, target;
    std::string divisor = head.name(inverse.inputs[0]);
    const std::string whole = head.name(product.inputs[1 - place]);
    std::string factors = source.line(call_of(graph_, inverse, {divisor}));
    for (const Node* const view : views) {
      factors = source.line(call_of(graph_, *view, {factors}));
      divisor = target.line(call_of(graph_, *view, {divisor}));
    }
    Names operands(2, whole);
    operands[place] = factors;
    const std::string given = source.line(call_of(graph_, product, operands));
    const std::string result = target.line(
        fmt::format("{}({}, {})", ops::operator_for(ops::Arithmetic::kQuotient), whole, divisor));
    return rule_text(fmt::format("{}{}", kQuotientPrefix, product.op->name), head.text(), source,
                     {given}, target, {result});
  }

  const Graph& graph_;
  NodeId inverse_;
};

}  // namespace

std::vector<RewriteSequence> find_quotients(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!ops::is_inverse(*node.op) || graph.is_constant_expression(id) ||
        !has_known_sizes(graph, node))
      continue;
    RewriteSequence plan = QuotientWriter(graph, id).plan();
    if (!plan.steps.empty()) plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace soapstone::transforms
