#include "transforms/recognize/unary_functions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/registry.h"
#include "transforms/recognize/closure.h"
#include "transforms/recognize/named_functions.h"
#include "transforms/recognize/recognition.h"
#include "transforms/recognize/region_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostChainNodes = 32;
constexpr std::string_view kFunctionDescription = "What is written out is a function with a name.";

/// Where an exp may be infinite.
constexpr double kFarPoints[] = {-1000, 1000};

/// What is computed of one tensor element by element.
class Chain {
 public:
  Chain(const Graph& graph, TensorId x, const std::map<NodeId, std::size_t>& places)
      : graph_(graph), x_(x), places_(places) {}

  /// False: there is too little of it to be worth a look.
  bool grow() {
    std::set<TensorId> known{x_};
    take_behind(graph_, places_, x_, kMostChainNodes, [&](NodeId id) {
      if (!fits(graph_.node(id), known)) return false;
      nodes_.push_back(id);
      known.insert(graph_.node(id).outputs[0]);
      return true;
    });
    return nodes_.size() > 1;
  }

  const std::vector<NodeId>& nodes() const { return nodes_; }

  /// The values of each node's result at the sample points, and at the far ones. Empty: they cannot
  /// be computed.
  std::vector<Values> values() const {
    Values points = sample_points();
    points.insert(points.end(), std::begin(kFarPoints), std::end(kFarPoints));
    const core::Shape shape{static_cast<std::int64_t>(points.size())};
    return results_of(graph_, x_, {core::DataType::kFloat32, shape}, nodes_, points);
  }

 private:
  bool fits(const Node& node, const std::set<TensorId>& known) const {
    const auto* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise || node.outputs.size() != 1)
      return false;
    const core::TensorType& type = graph_.tensor(node.outputs[0]).type;
    return (type.data_type == core::DataType::kFloat32 ||
            type.data_type == core::DataType::kBool) &&
           type.shape == graph_.tensor(x_).type.shape &&
           std::ranges::all_of(node.inputs, [&](TensorId input) {
             return input.valid() && (known.contains(input) || number_of(graph_, input));
           });
  }

  const Graph& graph_;
  TensorId x_;
  const std::map<NodeId, std::size_t>& places_;
  std::vector<NodeId> nodes_;
};

class FunctionFinder {
 public:
  FunctionFinder(const Graph& graph, std::set<NodeId>& taken)
      : graph_(graph), taken_(taken), places_(places_of(graph)) {}

  std::vector<RewriteSequence> run() {
    for (const TensorId input : graph_.inputs()) look_behind(input);
    for (const NodeId id : graph_.order())
      for (const TensorId output : graph_.node(id).outputs) look_behind(output);
    return std::move(plans_);
  }

 private:
  /// What computes y from x.
  struct Part {
    TensorId x, y;
    std::set<NodeId> nodes;
    bool has_far_values;
    std::optional<NamedValue> function_of(const Graph& graph, const Values& values) const {
      return transforms::function_of(values, numbers_in(graph, nodes), nodes.size());
    }
    FloatBehavior floats() const {
      return has_far_values ? FloatBehavior::kReassociates : FloatBehavior::kExtendsRange;
    }
  };

  void look_behind(TensorId x) {
    const core::TensorType& type = graph_.tensor(x).type;
    if (type.data_type != core::DataType::kFloat32 || !has_sizes(x) ||
        graph_.is_constant_expression(x))
      return;
    Chain chain(graph_, x, places_);
    if (!chain.grow()) return;
    std::vector<Values> values = chain.values();
    const auto is_finite = [](double value) { return std::isfinite(value); };
    for (std::size_t k = values.size(); k-- > 0;) {
      const NodeId last = chain.nodes()[k];
      const bool has_far_values =
          std::all_of(values[k].end() - std::ssize(kFarPoints), values[k].end(), is_finite);
      values[k].resize(values[k].size() - std::size(kFarPoints));
      if (taken_.contains(last) || !std::ranges::all_of(values[k], is_finite)) continue;
      const TensorId y = graph_.node(last).outputs[0];
      if (graph_.tensor(y).type != type) continue;
      const Part part{x, y, nodes_between(graph_, x, y), has_far_values};
      if (!take_whole(part, values[k])) take_divisor(part, values[k]);
    }
  }

  bool has_sizes(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.shape_known && core::concrete(type.shape);
  }

  bool take_whole(const Part& part, const Values& values) {
    const auto found = part.function_of(graph_, values);
    if (!found) return false;
    taken_.insert(part.nodes.begin(), part.nodes.end());
    plans_.push_back({{RewriteStep{.results = {part.y},
                                   .texts = {text(part, part.y, *found)},
                                   .description = kFunctionDescription,
                                   .floats = part.floats()}}});
    return true;
  }

  /// v/(1 + exp(−x)) is v·sigmoid(x): what is divided by is one over a function. Its nodes go when
  /// the last one that divides by them does.
  void take_divisor(const Part& part, const Values& values) {
    std::vector<NodeId> quotients;
    for (const NodeId reader : graph_.consumers(part.y))
      if (divides_by(reader, part.y) && !taken_.contains(reader)) quotients.push_back(reader);
    if (quotients.empty() || std::ranges::find(values, 0.0) != values.end()) return;
    Values inverses;
    std::ranges::transform(values, std::back_inserter(inverses), [](double v) { return 1 / v; });
    const auto found = part.function_of(graph_, inverses);
    if (!found) return;
    taken_.insert(part.nodes.begin(), part.nodes.end());
    taken_.insert(quotients.begin(), quotients.end());
    RewriteSequence plan;
    for (const NodeId quotient : quotients) {
      const TensorId result = graph_.node(quotient).outputs[0];
      plan.steps.push_back({.results = {result},
                            .texts = {text(part, result, *found)},
                            .description = kFunctionDescription,
                            .floats = part.floats()});
    }
    plans_.push_back(std::move(plan));
  }

  bool divides_by(NodeId id, TensorId divisor) const {
    const Node& node = graph_.node(id);
    if (node.op->is_opaque() || ops::arithmetic_of(*node.op) != ops::Arithmetic::kQuotient)
      return false;
    return node.inputs[1] == divisor && node.inputs[0] != divisor && has_sizes(node.inputs[0]);
  }

  static std::set<double> numbers_in(const Graph& graph, const std::set<NodeId>& nodes) {
    std::set<double> numbers;
    for (const NodeId id : nodes)
      for (const TensorId input : graph.node(id).inputs)
        if (const auto number = number_of(graph, input)) numbers.insert(*number);
    return numbers;
  }

  /// `result`: y, or a quotient by it.
  std::string text(const Part& part, TensorId result, const NamedValue& found) const {
    RegionText region(graph_, part.x);
    std::string dividend;
    if (result != part.y)
      dividend = region.input(graph_.node(graph_.tensor(result).producer).inputs[0]);
    const std::string source_result = region.add(result);
    SideText target;
    constexpr const char* kTimes = "mul";
    const auto with_number = [&](const char* call, const std::string& operand, double number) {
      const std::string c = target.line(fmt::format("full(; shape=[], value={})", text_of(number)));
      return target.line(fmt::format("{}({}, {})", call, operand, c));
    };
    const std::string ax = found.inner == 1 ? "x" : with_number(kTimes, "x", found.inner);
    std::string t = found.function.write(target, "x", ax);
    if (found.line.factor != 1) t = with_number(kTimes, t, found.line.factor);
    if (found.line.offset != 0) t = with_number("add", t, found.line.offset);
    if (!dividend.empty()) t = target.line(fmt::format("{}({}, {})", kTimes, dividend, t));
    return region.rule(fmt::format("{}{}", kNamedPrefix, found.function.name), source_result,
                       target, t);
  }

  const Graph& graph_;
  std::set<NodeId>& taken_;
  std::map<NodeId, std::size_t> places_;
  std::vector<RewriteSequence> plans_;
};

}  // namespace

std::vector<RewriteSequence> find_unary_functions(const Graph& graph, std::set<NodeId>& taken) {
  return FunctionFinder(graph, taken).run();
}

}  // namespace soapstone::transforms
