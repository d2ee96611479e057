#include "transforms/recognize/softmaxes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/recognize/closure.h"
#include "transforms/recognize/recognition.h"
#include "transforms/recognize/region_text.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using Values = std::vector<double>;

constexpr std::size_t kMostSoftmaxNodes = 16;
/// Of a tensor that is computed to see what comes of it.
constexpr std::int64_t kMostElementsTried = 1 << 18;
constexpr double kNearlyProbability = 1e-9;

constexpr std::string_view kSoftmaxDescription =
    "Exponentials over their sum are a softmax, whatever was taken off before.";

/// The functions of a tensor along one axis.
struct AlongAxis {
  Values softmax, log_softmax, log_sum;
};

AlongAxis functions_along(const Values& x, const Sizes& shape, std::size_t axis) {
  std::int64_t step = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) step *= shape[d];
  const auto stride = static_cast<std::size_t>(step), size = static_cast<std::size_t>(shape[axis]);
  AlongAxis all{x, x, {}};
  for (std::size_t block = 0; block < x.size(); block += stride * size) {
    for (std::size_t first = block; first < block + stride; ++first) {
      double sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += std::exp(x[first + k * stride]);
      all.log_sum.push_back(std::log(sum));
      for (std::size_t k = 0; k < size; ++k) {
        all.log_softmax[first + k * stride] -= std::log(sum);
        all.softmax[first + k * stride] = std::exp(all.log_softmax[first + k * stride]);
      }
    }
  }
  return all;
}

bool has_exponential(const ops::ExprNode& e) {
  return (e.kind == ops::ExprKind::kApply && e.function == ops::Function::kExp) ||
         std::ranges::any_of(e.arguments,
                             [](const ops::Expr& argument) { return has_exponential(*argument); });
}

bool are_near(const Values& a, const Values& b) {
  return std::ranges::equal(a, b, [](double x, double y) {
    return std::abs(x - y) <= kNearlyProbability * (1 + std::abs(x));
  });
}

class SoftmaxFinder {
 public:
  SoftmaxFinder(const Graph& graph, std::set<NodeId>& taken)
      : graph_(graph), taken_(taken), places_(places_of(graph)) {}

  std::vector<RewriteSequence> run() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      const auto* const op = ops::definition_of(node);
      if (op == nullptr || op->op_class != ops::OpClass::kReduction || node.op->averages ||
          node.op->find_role(AttributeRole::kAxes) == nullptr ||
          graph_.is_constant_expression(id) || !has_known_sizes(graph_, node))
        continue;
      const auto axes = ops::sizes_by_role(node, AttributeRole::kAxes);
      if (axes.size() != 1 || !is_exponential(node.inputs[0])) continue;
      // Perhaps of a difference.
      std::vector<TensorId> behind{node.inputs[0]};
      for (std::size_t k = 0; k < behind.size() && behind.size() < kMostBefore; ++k) {
        const NodeId producer = graph_.tensor(behind[k]).producer;
        if (!producer.valid()) continue;
        for (const TensorId input : graph_.node(producer).inputs)
          if (input.valid() && !graph_.is_constant_expression(input)) behind.push_back(input);
      }
      for (auto x = behind.rbegin(); x != behind.rend() && !taken_.contains(id); ++x)
        look_at(*x, static_cast<std::size_t>(axes[0].constant()));
    }
    return std::move(plans_);
  }

 private:
  /// Tensors before a sum that are tried.
  static constexpr std::size_t kMostBefore = 4;

  bool is_exponential(TensorId id) const {
    const NodeId producer = graph_.tensor(id).producer;
    if (!producer.valid() || ops::definition_of(graph_.node(producer)) == nullptr) return false;
    const ops::Semantics semantics = ops::semantics_of(graph_, producer);
    return semantics.stages.size() == 1 && has_exponential(*semantics.stages[0].body);
  }

  bool is_known(TensorId id) const {
    const core::TensorType& type = graph_.tensor(id).type;
    return type.data_type == core::DataType::kFloat32 && type.shape_known &&
           core::concrete(type.shape);
  }

  /// Sizes at which the nodes are tried: small ones, if none of them says the shape of its result.
  Sizes tried_sizes(TensorId x, std::size_t axis, const std::vector<NodeId>& nodes) const {
    Sizes sizes = known_sizes(graph_.tensor(x).type.shape);
    const bool has_shapes = std::ranges::any_of(nodes, [&](NodeId id) {
      return graph_.node(id).op->find_role(AttributeRole::kShape) != nullptr;
    });
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (d != axis && !has_shapes) sizes[d] = std::min<std::int64_t>(sizes[d], 2);
    return sizes;
  }

  void look_at(TensorId x, std::size_t axis) {
    if (!is_known(x) || axis >= graph_.tensor(x).type.shape.size() ||
        !seen_.insert({x, axis}).second)
      return;
    std::vector<NodeId> nodes;
    std::set<TensorId> known{x};
    take_behind(graph_, places_, x, kMostSoftmaxNodes, [&](NodeId id) {
      if (taken_.contains(id) || !fits(graph_.node(id), known)) return false;
      nodes.push_back(id);
      known.insert(graph_.node(id).outputs[0]);
      return true;
    });
    if (nodes.size() < 2) return;
    const Sizes shape = tried_sizes(x, axis, nodes);
    if (product_of(shape) > kMostElementsTried) return;
    Values of_x(static_cast<std::size_t>(product_of(shape)));
    std::mt19937_64 random(17);
    std::uniform_real_distribution<double> any(-3, 3);
    for (double& value : of_x) value = any(random);
    const core::TensorType type{core::DataType::kFloat32, core::Shape(shape.begin(), shape.end())};
    const std::vector<Values> values = results_of(graph_, x, type, nodes, of_x);
    if (values.empty()) return;
    const AlongAxis wanted = functions_along(of_x, shape, axis);
    for (std::size_t k = nodes.size(); k-- > 0;)
      if (take(x, nodes[k], axis, values[k], wanted)) return;
  }

  bool fits(const Node& node, const std::set<TensorId>& known) const {
    return ops::definition_of(node) != nullptr && node.outputs.size() == 1 &&
           is_known(node.outputs[0]) && std::ranges::all_of(node.inputs, [&](TensorId input) {
             return input.valid() && (known.contains(input) || number_of(graph_, input));
           });
  }

  bool take(TensorId x, NodeId last, std::size_t axis, const Values& values,
            const AlongAxis& wanted) {
    const TensorId y = graph_.node(last).outputs[0];
    const Sizes before = known_sizes(graph_.tensor(x).type.shape),
                after = known_sizes(graph_.tensor(y).type.shape);
    SideText target;
    std::string name, result;
    if (before == after && are_near(values, wanted.softmax)) {
      name = "softmax";
    } else if (before == after && are_near(values, wanted.log_softmax)) {
      name = "log_softmax";
    } else if (are_near(values, wanted.log_sum)) {
      name = "reduce_log_sum_exp";
      Sizes reduced = before;
      reduced[axis] = 1;
      result = target.reshaped(target.line(fmt::format("{}(x; axes=[{}])", name, axis)),
                               names_of(reduced), names_of(after));
    } else {
      return false;
    }
    if (result.empty()) result = target.line(fmt::format("{}(x; axis={})", name, axis));
    RegionText region(graph_, x);
    const std::string source = region.add(y);
    const std::set<NodeId> within = nodes_between(graph_, x, y);
    if (within.size() < 2) return false;
    taken_.insert(within.begin(), within.end());
    plans_.push_back({{RewriteStep{
        .results = {y},
        .texts = {region.rule(fmt::format("{}{}", kNamedPrefix, name), source, target, result)},
        .description = kSoftmaxDescription,
        .floats = FloatBehavior::kExtendsRange}}});
    return true;
  }

  const Graph& graph_;
  std::set<NodeId>& taken_;
  std::map<NodeId, std::size_t> places_;
  std::set<std::pair<TensorId, std::size_t>> seen_;
  std::vector<RewriteSequence> plans_;
};

}  // namespace

std::vector<RewriteSequence> find_softmaxes(const Graph& graph, std::set<NodeId>& taken) {
  return SoftmaxFinder(graph, taken).run();
}

}  // namespace soapstone::transforms
