#include "rules/demand/averages.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "rules/linear_maps/linearity.h"
#include "rules/moves/contraction_labels.h"
#include "rules/repetition/carried_axes.h"
#include "rules/repetition/repeated_operator.h"

namespace soapstone::rules {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;
using Axes = std::vector<std::size_t>;

constexpr std::string_view kAveragesDescription =
    "The sum of a linear operator's results is its result of the sum.";

/// A node that sums a tensor along axes, or takes means.
struct Reduction {
  const core::OpSchema* op;
  Axes axes;  ///< Ascending.
  bool keeps_rank;
  NodeId node;       ///< Of the graph; none: a step makes it.
  std::size_t part;  ///< Of the graph.
};

std::optional<Reduction> reduction_of(const Graph& graph, const Node& node) {
  const core::AttributeSchema* const axes = node.op->find_role(AttributeRole::kAxes);
  const core::AttributeSchema* const keeps = node.op->find_role(AttributeRole::kKeepsRank);
  if (axes == nullptr || keeps == nullptr || node.inputs.size() != 1 ||
      node.op->attributes.size() != 2 || !linearity_in(graph, node, {true}))
    return std::nullopt;
  Reduction found{.op = node.op,
                  .axes = {},
                  .keeps_rank = node.attributes.get_int(keeps->name) != 0,
                  .node = NodeId::none(),
                  .part = 0};
  for (const core::Polynomial& axis : ops::sizes_by_role(node, AttributeRole::kAxes))
    found.axes.push_back(static_cast<std::size_t>(axis.constant()));
  return found;
}

std::string reduction_call(const Reduction& how, const std::string& name, const Axes& axes,
                           bool keeps_rank) {
  return fmt::format("{}({}; {}=[{}], {}={})", how.op->name, name,
                     how.op->find_role(AttributeRole::kAxes)->name, fmt::join(axes, ", "),
                     how.op->find_role(AttributeRole::kKeepsRank)->name, keeps_rank ? 1 : 0);
}

/// One operator whose result is only reduced, applied to reduced operands.
class ReducedOperator {
 public:
  ReducedOperator(const Graph& graph, const Node& node, const std::vector<Reduction>& readers)
      : graph_(graph), node_(node), readers_(readers), axes_(node.inputs.size()),
        shape_(known_sizes(graph.tensor(node.outputs[0]).type.shape)) {
    for (const std::size_t axis : readers[0].axes) count_ *= shape_[axis];
  }

  /// By operand: the axes along which it is reduced. None: the operator is not linear in what has
  /// them, or mixes places.
  std::optional<std::vector<Axes>> run() {
    for (const std::size_t axis : readers_[0].axes) {
      const auto carried = carried_axis(graph_, node_, axis);
      if (!carried) return std::nullopt;
      for (std::size_t k = 0; k < axes_.size(); ++k)
        if (carried->operands[k]) axes_[k].push_back(*carried->operands[k]);
    }
    std::vector<bool> linear;
    for (Axes& axes : axes_) {
      std::ranges::sort(axes);
      if (!axes.empty() && axes.size() != readers_[0].axes.size()) return std::nullopt;
      linear.push_back(!axes.empty());
    }
    const auto linearity = linearity_in(graph_, node_, linear);
    if (!linearity || !has_right_type()) return std::nullopt;
    is_added_ = linearity->is_added;
    return axes_;
  }

  std::vector<std::string> texts() const {
    SizeNames sizes;
    for (const TensorId id : node_.inputs)
      for (const std::int64_t n : known_sizes(graph_.tensor(id).type.shape)) sizes.leave_open(n);
    if (!readers_[0].op->averages)
      for (const std::size_t axis : readers_[0].axes) sizes.fix(shape_[axis]);
    return in_both_ways(sizes, [&](const SizeNames& names) { return text(names); });
  }

 private:
  Sizes reduced(Sizes shape, const Axes& axes) const {
    for (const std::size_t axis : axes) shape[axis] = 1;
    return shape;
  }

  bool has_right_type() const {
    std::vector<core::TensorType> types;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      types.push_back(graph_.tensor(node_.inputs[k]).type);
      types.back().shape = core::to_shape(reduced(known_sizes(types.back().shape), axes_[k]));
    }
    core::Attributes attributes = node_.attributes;
    const core::Shape wanted = core::to_shape(reduced(shape_, readers_[0].axes));
    if (const auto* const shape = node_.op->find_role(AttributeRole::kShape))
      attributes.set(shape->name, wanted);
    const auto results = ops::infer_types(*node_.op, attributes, types);
    return results && results->size() == 1 && (*results)[0].shape == wanted;
  }

  std::string text(const SizeNames& sizes) const {
    RepetitionText text(graph_, sizes);
    Names given, taken;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const TensorId id = node_.inputs[k];
      const core::TensorType& type = graph_.tensor(id).type;
      given.push_back(text.input(fmt::format("x{}", id.index()), type, known_sizes(type.shape)));
      taken.push_back(reduced_operand(text, k, given.back()));
    }
    const std::string whole = text.source().line(text.call(node_, given, shape_));
    const std::string base =
        text.target().line(text.call(node_, taken, reduced(shape_, readers_[0].axes)));
    Names from, to;
    for (const Reduction& reader : readers_) {
      from.push_back(
          text.source().line(reduction_call(reader, whole, reader.axes, reader.keeps_rank)));
      to.push_back(reader.keeps_rank ? base : without_axes(text, base));
    }
    return text.finished(fmt::format("{}{}", kAveragesPrefix, node_.op->name), from, to);
  }

  /// What is added to each term is added to a sum as often as there are terms.
  std::string reduced_operand(RepetitionText& text, std::size_t k, const std::string& name) const {
    SideText& side = text.target();
    if (!axes_[k].empty()) return side.line(reduction_call(readers_[0], name, axes_[k], true));
    if (readers_[0].op->averages || !is_added_[k]) return name;
    const std::string n = side.line(fmt::format("full(; shape=[], value={})", count_));
    return side.line(fmt::format("mul({}, {})", name, n));
  }

  std::string without_axes(RepetitionText& text, const std::string& base) const {
    Sizes left;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (std::ranges::find(readers_[0].axes, d) == readers_[0].axes.end())
        left.push_back(shape_[d]);
    return text.target().line(
        fmt::format("reshape({}; shape=[{}])", base, list_of(text.sizes().texts(left))));
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Reduction>& readers_;
  std::vector<Axes> axes_;  ///< By operand.
  Sizes shape_;             ///< Of the result.
  std::int64_t count_ = 1;  ///< Of the terms of a sum.
  std::vector<bool> is_added_;
};

/// Goes from the results to the inputs, as long as all that read a tensor reduce it alike.
class AveragePlanner {
 public:
  explicit AveragePlanner(const Graph& graph) : graph_(graph) {}

  std::vector<RewritePlan> run() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const Node& node = graph_.node(*id);
      const bool is_complete =
          std::ranges::all_of(node.inputs, [](TensorId input) { return input.valid(); });
      if (!graph_.is_constant_expression(*id) && is_complete && node.outputs.size() == 1 &&
          has_known_sizes(graph_, node))
        visit(*id, node);
    }
    std::map<std::size_t, RewritePlan> plans;
    std::set<std::size_t> has_product, gains;
    for (Step& step : steps_) {
      const std::size_t part = root(step.part);
      step.step.ends = has_product.erase(part) > 0;
      if (step.is_product) has_product.insert(part);
      if (step.is_product) gains.insert(part);
      plans[part].steps.push_back(std::move(step.step));
    }
    std::vector<RewritePlan> found;
    for (auto& [part, plan] : plans)
      if (gains.contains(part)) found.push_back(std::move(plan));
    return found;
  }

 private:
  struct Step {
    std::size_t part;
    bool is_product;
    PlanStep step;
  };

  void visit(NodeId id, const Node& node) {
    const TensorId result = node.outputs[0];
    const auto readers = readers_.find(result);
    if (readers != readers_.end() && is_only_reduced(result, readers->second) &&
        take(id, node, readers->second))
      return;
    if (auto reduction = reduction_of(graph_, node)) {
      reduction->node = id;
      reduction->part = parent_.size();
      parent_.push_back(parent_.size());
      reducing_.insert(id);
      readers_[node.inputs[0]].push_back(*std::move(reduction));
    }
  }

  bool is_only_reduced(TensorId id, const std::vector<Reduction>& readers) const {
    const auto is_other = [&](NodeId reader) { return !reducing_.contains(reader); };
    if (graph_.is_output(id) || read_whole_.contains(id) ||
        std::ranges::any_of(graph_.consumers(id), is_other))
      return false;
    for (std::size_t k = 1; k < readers.size(); ++k) {
      if (readers[k].op != readers[0].op || readers[k].axes != readers[0].axes) return false;
      for (std::size_t j = 0; j < k; ++j)  // a rule says each once
        if (readers[j].keeps_rank == readers[k].keeps_rank) return false;
    }
    return true;
  }

  bool take(NodeId id, const Node& node, std::vector<Reduction> readers) {
    std::ranges::stable_sort(readers, {}, [&](const Reduction& reader) {
      return reader.node.valid() ? reader.node.index() : graph_.node_bound();
    });
    ReducedOperator reduced(graph_, node, readers);
    const auto axes = reduced.run();
    if (!axes) return false;
    for (const Reduction& reader : readers) parent_[root(reader.part)] = root(readers[0].part);
    const std::size_t part = root(readers[0].part);
    steps_.push_back({part, ops::definition_of(node)->op_class == ops::OpClass::kContraction,
                      PlanStep{.results = {},
                               .readers_of = {node.outputs[0]},
                               .texts = reduced.texts(),
                               .description = kAveragesDescription,
                               .floats = FloatBehavior::kReassociates}});
    reducing_.insert(id);
    std::map<TensorId, Axes> seen;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const TensorId input = node.inputs[k];
      const auto [known, is_new] = seen.emplace(input, (*axes)[k]);
      if ((*axes)[k].empty() || known->second != (*axes)[k])
        read_whole_.insert(input);
      else if (is_new)
        readers_[input].push_back({readers[0].op, (*axes)[k], true, NodeId::none(), part});
    }
    return true;
  }

  std::size_t root(std::size_t part) const {
    while (parent_[part] != part) part = parent_[part];
    return part;
  }

  const Graph& graph_;
  std::map<TensorId, std::vector<Reduction>> readers_;
  std::set<NodeId> reducing_;        ///< Nodes that read sums alone of what they reduce.
  std::set<TensorId> read_whole_;    ///< By one of these, nevertheless.
  std::vector<std::size_t> parent_;  ///< By part: itself, or one it was joined with.
  std::vector<Step> steps_;
};

}  // namespace

std::vector<RewritePlan> find_averages(const Graph& graph) { return AveragePlanner(graph).run(); }

}  // namespace soapstone::rules
