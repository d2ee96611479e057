#include "transforms/recognize/norms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/recognize/closure.h"
#include "transforms/recognize/recognition.h"
#include "transforms/recognize/region_text.h"
#include "transforms/recognize/statistics.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using Axes = std::vector<std::size_t>;

constexpr std::size_t kMostNormNodes = 48;

constexpr std::string_view kNormDescription =
    "What is written out with a mean and a root is a norm, whatever the order.";

/// Writes a norm over some axes of a view of a tensor.
class NormWriter {
 public:
  NormWriter(const Graph& graph, TensorId x, const Sizes& view, const Axes& axes)
      : graph_(graph), axes_(axes), own_(known_sizes(graph.tensor(x).type.shape)), shape_(view),
        region_(graph, x) {
    for (std::size_t d = 0; d < shape_.size(); ++d)
      (std::ranges::binary_search(axes, d) ? inside_ : outside_).push_back(shape_[d]);
    for (const std::int64_t size : inside_) features_ *= size;
  }

  /// With the clamp taken away before, if there is one.
  std::string text(const Norm& norm, const std::optional<Clamp>& clamp) {
    if (clamp) region_.replace(clamp->after, variance(region_.source(), *clamp));
    const std::string y = region_.add(norm.result);
    const bool scales = is_inside(norm.scale), adds = norm.is_centred && is_inside(norm.offset);
    std::string operands = scales ? features(norm.scale) : ones();
    if (scales && adds && !norm.offset.empty()) operands += ", " + features(norm.offset);
    const char* const name = norm.is_centred ? "layer_norm" : "rms_norm";
    const Sizes rows = rows_shape();
    std::string t = target_.reshaped("x", names_of(own_), names_of(shape_));
    t = target_.reshaped(target_.transposed(t, order()), names_of(turned()), names_of(rows));
    t = target_.line(fmt::format("{}({}, {}; axis={}, epsilon={})", name, t, operands,
                                 outside_.size(), text_of(norm.epsilon)));
    t = target_.transposed(target_.reshaped(t, names_of(rows), names_of(turned())), back());
    if (!scales) t = target_.line(fmt::format("mul({}, {})", t, broadcast(norm.scale)));
    if (!(scales && adds) && !norm.offset.empty())
      t = target_.line(fmt::format("add({}, {})", t, broadcast(norm.offset)));
    t = target_.reshaped(t, names_of(shape_), names_of(own_));
    return region_.rule(fmt::format("{}{}", kNamedPrefix, name), y, target_, t);
  }

  /// What is clamped as a mean of squares: of such a one it can be seen that it is not negative.
  std::string text_of_squares(const Clamp& clamp) {
    const std::string y = region_.add(clamp.before);
    return region_.rule(fmt::format("{}variance", kNamedPrefix), y, target_,
                        variance(target_, clamp));
  }
  /// And that it needs no clamp then, whatever is squared.
  std::string text_without(Clamp clamp) {
    clamp.is_centred = false;
    region_.replace(clamp.before, variance(region_.source(), clamp));
    const std::string y = region_.add(clamp.after);
    return region_.rule(fmt::format("{}clamp", kNamedPrefix), y, target_, variance(target_, clamp));
  }

 private:
  std::string variance(SideText& side, const Clamp& clamp) const {
    // Nodes of its own: what else computes means is not replaced.
    const std::string x = side.reshaped("x", names_of(own_), names_of(shape_));
    const auto mean_of = [&](const std::string& of) {
      return side.another(fmt::format("reduce_mean({}; axes=[{}])", of, fmt::join(axes_, ", ")), 1)
          .front();
    };
    std::string d = x;
    if (clamp.is_centred) d = side.another(fmt::format("sub({}, {})", x, mean_of(x)), 1).front();
    Sizes kept = shape_;
    for (const std::size_t axis : axes_) kept[axis] = 1;
    return side.reshaped(mean_of(side.another(fmt::format("mul({0}, {0})", d), 1).front()),
                         names_of(kept),
                         names_of(known_sizes(graph_.tensor(clamp.before).type.shape)));
  }

  Axes order() const {
    Axes order;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (!std::ranges::binary_search(axes_, d)) order.push_back(d);
    order.insert(order.end(), axes_.begin(), axes_.end());
    return order;
  }
  Axes back() const {
    const Axes there = order();
    Axes back(there.size());
    for (std::size_t d = 0; d < there.size(); ++d) back[there[d]] = d;
    return back;
  }
  Sizes turned() const {
    Sizes sizes = outside_;
    sizes.insert(sizes.end(), inside_.begin(), inside_.end());
    return sizes;
  }
  Sizes rows_shape() const {
    Sizes sizes = outside_;
    sizes.push_back(features_);
    return sizes;
  }

  std::string ones() { return filled({features_}, 1); }
  std::string filled(const Sizes& sizes, double number) {
    return target_.line(
        fmt::format("full(; shape=[{}], value={})", list_of(sizes), text_of(number)));
  }

  /// Whether its constants lie on the axes of the norm alone.
  bool is_inside(const FactorSum& sum) const {
    for (const auto& [product, number] : sum)
      for (const auto& [factor, exponent] : product)
        for (const std::size_t axis : factor.axes)
          if (axis != kNoAxis && !std::ranges::binary_search(axes_, axis)) return false;
    return true;
  }

  /// One number for each feature.
  std::string features(const FactorSum& sum) {
    if (sum.size() == 1 && sum.begin()->first.empty())
      return filled({features_}, sum.begin()->second);
    const std::string all = spread(sum, axes_, inside_);
    return target_.reshaped(all, names_of(inside_), names_of({features_}));
  }
  std::string broadcast(const FactorSum& sum) {
    Axes all(shape_.size());
    for (std::size_t d = 0; d < all.size(); ++d) all[d] = d;
    return sum_of(sum, all).first;
  }

  std::string spread(const FactorSum& sum, const Axes& axes, const Sizes& sizes) {
    const auto [name, shape] = sum_of(sum, axes);
    if (shape == sizes) return name;
    return target_.line(fmt::format("expand({}; shape=[{}])", name, list_of(sizes)));
  }

  using Named = std::pair<std::string, Sizes>;  // with its shape

  Named joined(const char* call, const Named& a, const Named& b) {
    Sizes shape = a.second;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::max(shape[d], b.second[d]);
    return {target_.line(fmt::format("{}({}, {})", call, a.first, b.first)), shape};
  }

  Named sum_of(const FactorSum& sum, const Axes& axes) {
    std::optional<Named> all;
    for (const auto& [product, number] : sum) {
      const Named term = product_of(product, number, axes);
      all = all ? joined("add", *all, term) : term;
    }
    return *all;
  }

  Named product_of(const Product& product, double number, const Axes& axes) {
    std::optional<Named> all;
    for (const auto& [factor, exponent] : product) {
      for (int k = 0; k < exponent; ++k) {
        const Named its = constant(factor, axes);
        all = all ? joined("mul", *all, its) : its;
      }
    }
    if (all && number == 1) return *all;
    const Named alone{filled(Sizes(axes.size(), 1), number), Sizes(axes.size(), 1)};
    return all ? joined("mul", *all, alone) : alone;
  }

  /// The constant with a dimension for each of these axes.
  Named constant(const Factor& factor, const Axes& axes) {
    Sizes shape;
    for (const std::size_t axis : axes)
      shape.push_back(std::ranges::find(factor.axes, axis) == factor.axes.end() ? 1 : shape_[axis]);
    const Sizes own = known_sizes(graph_.tensor(factor.constant).type.shape);
    return {target_.reshaped(region_.add(factor.constant), names_of(own), names_of(shape)), shape};
  }

  const Graph& graph_;
  const Axes& axes_;
  Sizes own_, shape_;  ///< Of the tensor, and of the view.
  Sizes inside_, outside_;
  std::int64_t features_ = 1;
  RegionText region_;
  SideText target_;
};

class NormFinder {
 public:
  NormFinder(const Graph& graph, std::set<NodeId>& taken)
      : graph_(graph), taken_(taken), places_(places_of(graph)) {}

  std::vector<RewriteSequence> run() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      const core::AttributeSchema* const role = node.op->find_role(AttributeRole::kAxes);
      const auto* const op = ops::definition_of(node);
      if (role == nullptr || op == nullptr || op->op_class != ops::OpClass::kReduction ||
          graph_.is_constant_expression(id) || !has_known_sizes(graph_, node))
        continue;
      Axes axes;
      for (const core::Polynomial& axis : ops::sizes_by_role(node, AttributeRole::kAxes))
        axes.push_back(static_cast<std::size_t>(axis.constant()));
      // What is squared or centred before is looked at first.
      const NodeId before = graph_.tensor(node.inputs[0]).producer;
      if (before.valid())
        for (const TensorId input : graph_.node(before).inputs)
          if (input.valid()) look_at_views(input, axes);
      look_at_views(node.inputs[0], axes);
    }
    return std::move(plans_);
  }

 private:
  void look_at_views(TensorId x, const Axes& axes) {
    const core::TensorType& type = graph_.tensor(x).type;
    if (type.data_type != core::DataType::kFloat32 || !type.shape_known ||
        !core::concrete(type.shape) || graph_.is_constant_expression(x) ||
        axes.back() >= type.shape.size() || !seen_.insert({x, axes}).second)
      return;
    if (look_at(x, x, axes)) return;
    // Statistics of groups may be those of a tensor whose channels are not apart.
    const NodeId before = graph_.tensor(x).producer;
    if (before.valid() && graph_.node(before).op->movement == core::Movement::kReshape &&
        has_known_sizes(graph_, graph_.node(before)))
      look_at(graph_.node(before).inputs[0], x, axes);
  }

  /// Whether it finds one. `viewed` is x, or a reshape of it.
  bool look_at(TensorId x, TensorId viewed, const Axes& axes) {
    const Sizes view = known_sizes(graph_.tensor(viewed).type.shape);
    Statistics statistics(graph_, x, view, axes);
    std::optional<Norm> last;
    take_behind(graph_, places_, x, kMostNormNodes, [&](NodeId id) {
      if (taken_.contains(id) || !statistics.add(graph_.node(id))) return false;
      // Beyond a norm that others read, such as the factor of a swish, there is another one.
      if (last && graph_.consumers(last->result).size() > 1) return true;
      if (auto norm = statistics.norm_at(graph_.node(id).outputs[0])) last = std::move(norm);
      return true;
    });
    if (!last) return false;
    const std::set<NodeId> nodes = nodes_between(graph_, x, last->result);
    taken_.insert(nodes.begin(), nodes.end());
    RewriteSequence plan;
    const auto step = [&](TensorId result, std::string text) {
      plan.steps.push_back({.results = {result},
                            .texts = {std::move(text)},
                            .description = kNormDescription,
                            .floats = FloatBehavior::kReassociates});
    };
    std::optional<Clamp> clamp;
    for (const Clamp& each : statistics.clamps())
      if (nodes.contains(graph_.tensor(each.after).producer)) clamp = each;
    if (clamp) {
      step(clamp->before, NormWriter(graph_, x, view, axes).text_of_squares(*clamp));
      step(clamp->after, NormWriter(graph_, viewed, view, axes).text_without(*clamp));
    }
    step(last->result, NormWriter(graph_, x, view, axes).text(*last, clamp));
    plans_.push_back(std::move(plan));
    return true;
  }

  const Graph& graph_;
  std::set<NodeId>& taken_;
  std::map<NodeId, std::size_t> places_;
  std::set<std::pair<TensorId, Axes>> seen_;
  std::vector<RewriteSequence> plans_;
};

}  // namespace

std::vector<RewriteSequence> find_norms(const Graph& graph, std::set<NodeId>& taken) {
  return NormFinder(graph, taken).run();
}

}  // namespace soapstone::transforms
