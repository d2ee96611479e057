#include "transforms/pack/blocks.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/base/independence.h"
#include "transforms/pack/wide_operator.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::OperandRole;
using Kind = WideOperand::Kind;

constexpr std::size_t kMostBlockPlans = 200, kMostTowersInRow = 64;

constexpr std::string_view kBlocksDescription =
    "What is done to tensors side by side is done to all of them at once.";

class BlockPlanner {
 public:
  explicit BlockPlanner(const Graph& graph) : graph_(graph), independence_(graph) {}

  std::vector<RewriteSequence> run() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) end_in_join(graph_.node(*id));
    end_apart();
    for (const NodeId id : order) read_whole(graph_.node(id));
    return std::move(found_);
  }

 private:
  void begin() {
    steps_.clear();
    widened_.clear();
  }
  void keep(bool ends_apart) {
    if (found_.size() >= kMostBlockPlans) return;
    for (const RewriteStep& step : steps_) {
      if (ends_apart) packed_.insert(step.results.begin(), step.results.end());
    }
    found_.push_back({std::move(steps_)});
  }

  // --- Ends ---

  void end_in_join(const Node& node) {
    if (node.op->movement != Movement::kJoin || graph_.is_constant_expression(node.outputs[0]))
      return;
    begin();
    const std::size_t axis = ops::axis_by_role(node);
    std::vector<RowOfJoin> rows;
    for (std::size_t k = 0; k < node.inputs.size();) {
      RowOfJoin row{k, 1};
      while (row.end() < node.inputs.size() && row.count < kMostTowersInRow &&
             do_the_same(graph_, {{node.inputs[k], node.inputs[row.end()]}, axis}))
        ++row.count;
      const auto operand = [&](std::size_t at) {
        return node.inputs.begin() + static_cast<std::ptrdiff_t>(at);
      };
      const bool is_wide =
          row.count >= 2 && widen({{operand(row.first), operand(row.end())}, axis});
      if (is_wide) rows.push_back(row);
      k = is_wide ? row.end() : k + 1;
    }
    if (rows.empty()) return;
    std::vector<std::string> texts;
    for (const bool any_sizes : {true, false})
      texts.push_back(wide_join(graph_, node, rows, any_sizes));
    add_step({node.outputs[0]}, std::move(texts));
    steps_.back().ends = true;
    keep(false);
  }

  /// Siblings at one depth, none of which was widened for such an end before.
  void end_apart() {
    const std::vector<std::size_t> depths = depths_of(graph_);
    std::map<std::pair<std::string, std::size_t>, Row> alike;
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (graph_.is_constant_expression(id)) continue;
      const Axes axes = feature_axes(node);
      if (axes.empty()) continue;
      features_.emplace(node.outputs[0], axes);
      for (const std::size_t axis : axes) {
        Row& row = alike[{kind_of(node, axis), depths[id.index()]}];
        row.axis = axis;
        row.tensors.push_back(node.outputs[0]);
      }
    }
    std::vector<std::pair<std::size_t, Row>> by_depth;
    for (auto& [kind, row] : alike) by_depth.emplace_back(kind.second, std::move(row));
    std::ranges::stable_sort(by_depth, std::ranges::greater{},
                             [](const auto& entry) { return entry.first; });
    const auto all = by_depth;
    for (auto& [ignored, row] : by_depth) {
      std::erase_if(row.tensors, [&](TensorId id) { return packed_.contains(id); });
      if (row.tensors.size() < 2 || row.tensors.size() > kMostTowersInRow) continue;
      begin();
      if (do_the_same(graph_, row) && widen(row)) keep(true);
    }
    for (const auto& [ignored, row] : all) end_in_products(row);
  }

  /// Siblings that are read by unlike products, each of which reads all of them, with zeros for the
  /// others. What else reads them reads their parts.
  void end_in_products(const Row& row) {
    if (row.tensors.size() < 2 || row.tensors.size() > kMostTowersInRow) return;
    begin();
    if (!do_the_same(graph_, row) || are_results_of_split(row) || !widen(row)) return;
    split_ = &row;
    bool is_read_whole = false;
    for (const TensorId part : row.tensors) {
      for (const NodeId reader : graph_.consumers(part)) {
        const Node& node = graph_.node(reader);
        const Axes axes = node.op->is_opaque() ? Axes{} : feature_axes(node);
        is_read_whole |= !axes.empty() && widen({{node.outputs[0]}, axes.front()});
      }
    }
    split_ = nullptr;
    if (is_read_whole) keep(false);
  }

  /// Products that read one part of a split each read all of it, with zeros for the other parts.
  void read_whole(const Node& split) {
    if (split.op->movement != Movement::kSplit) return;
    begin();
    for (const TensorId part : split.outputs) {
      if (graph_.is_output(part)) return;
      for (const NodeId reader : graph_.consumers(part)) {
        const Node& node = graph_.node(reader);
        const Axes axes = feature_axes(node);
        if (axes.empty() || !widen({{node.outputs[0]}, axes.front()})) return;
      }
    }
    keep(false);
  }

  using Axes = std::vector<std::size_t>;

  /// The axis of the features that the last product in front of the node has made, and those of its
  /// batch of weights.
  Axes feature_axes(const Node& node) const {
    if (node.op->is_opaque() || node.outputs.size() != 1) return {};
    const core::TensorType& result = graph_.tensor(node.outputs[0]).type;
    if (!result.shape_known || !core::concrete(result.shape)) return {};
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const OperandRole role = node.op->operand_role(k);
      if (!node.inputs[k].valid() || !graph_.is_constant_expression(node.inputs[k])) continue;
      if (role == OperandRole::kRightMatrix)
        return axes_of_weights(graph_.tensor(node.inputs[k]).type.shape, result.shape);
      if (role == OperandRole::kKernel) return {1};
    }
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (const auto known = features_.find(node.inputs[k]); known != features_.end())
        return axes_kept(node, k, known->second);
    return {};
  }

  static Axes axes_of_weights(const core::Shape& weights, const core::Shape& result) {
    Axes axes{result.size() - 1};
    for (std::size_t d = 0; d + 2 < weights.size(); ++d)
      axes.push_back(result.size() - weights.size() + d);
    return axes;
  }

  /// Where the result has these axes of an operand.
  Axes axes_kept(const Node& node, std::size_t operand, const Axes& axes) const {
    const std::size_t rank = graph_.tensor(node.outputs[0]).type.shape.size();
    Axes kept;
    for (const std::size_t axis : axes) {
      if (ops::definition_of(node)->op_class == ops::OpClass::kElementwise) {
        kept.push_back(rank - graph_.tensor(node.inputs[operand]).type.shape.size() + axis);
        continue;
      }
      if (node.op->movement == Movement::kReshape) {
        std::ranges::copy(axes_reshaped(node, axis), std::back_inserter(kept));
        continue;
      }
      std::vector<std::optional<std::size_t>> places(node.inputs.size());
      places[operand] = axis;
      if (const auto its = kept_axis(graph_, node, places)) kept.push_back(its->front());
    }
    return kept;
  }

  /// Where what a reshape makes of an axis ends, where it begins, and what it is a part of: anchors
  /// and classes of each, heads and features, images that are flattened.
  Axes axes_reshaped(const Node& node, std::size_t axis) const {
    const core::Shape& from = graph_.tensor(node.inputs[0]).type.shape;
    const core::Shape& to = graph_.tensor(node.outputs[0]).type.shape;
    const auto elements_from = [](const core::Shape& shape, std::size_t d) {
      std::int64_t count = 1;
      for (; d < shape.size(); ++d) count *= shape[d].constant();
      return count;
    };
    Axes axes;
    for (std::size_t d = to.size(); d-- > 0;) {
      if (to[d] == 1) continue;
      const bool ends = elements_from(to, d + 1) == elements_from(from, axis + 1);
      const bool begins = elements_from(to, d) == elements_from(from, axis);
      const bool surrounds = elements_from(to, d + 1) < elements_from(from, axis + 1) &&
                             elements_from(to, d) > elements_from(from, axis + 1);
      if (ends || begins || surrounds) axes.push_back(d);
    }
    return axes;
  }

  /// What siblings have in common, whatever their sizes along the axis.
  std::string kind_of(const Node& node, std::size_t axis) const {
    std::string kind = fmt::format("{};{}", node.op->name, axis);
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const core::AttributeValue* const value = node.attributes.find(schema.name);
      if (value != nullptr && schema.role != core::AttributeRole::kShape &&
          schema.role != core::AttributeRole::kGroup)
        kind += fmt::format(";{}", core::to_string(*value, graph_.symbols()));
    }
    core::TensorType type = graph_.tensor(node.outputs[0]).type;
    type.shape[axis] = 0;
    return kind + fmt::format(";{}{}", core::to_string(type.data_type),
                              core::to_string(type.shape, graph_.symbols()));
  }

  // --- What stands side by side ---

  /// True: the tensors are the results of one split, once the steps so far are taken.
  bool widen(const Row& row) {
    if (are_results_of_split(row)) return true;
    const auto [known, is_new] = widened_.emplace(row, false);
    if (!is_new) return known->second;
    if (!do_the_same(graph_, row) || !are_independent(row)) return false;
    auto form = wide_form(graph_, row, split_);
    if (!form) return false;
    for (WideOperand& operand : form->operands) {
      const bool may_be_whole = operand.kind == Kind::kRow || operand.kind == Kind::kSummed;
      operand.is_whole = may_be_whole && is_computed(operand.row) && widen(operand.row);
    }
    for (std::size_t i = 0; form->channels_of_group > 1 && i < row.tensors.size(); ++i)
      add_step({row.tensors[i]}, {reshape_in_steps(graph_, row, *form, i)});
    // What a reshape says of groups is so because sizes are what they are.
    const WideOperand& first = form->operands[0];
    const bool makes_groups =
        (first.kind == Kind::kRow && first.row.groups != row.groups) || form->channels_of_group > 1;
    std::vector<std::string> texts;
    if (!makes_groups) texts.push_back(wide_operator(graph_, row, *form, true));
    texts.push_back(wide_operator(graph_, row, *form, false));
    const bool sums = std::ranges::any_of(
        form->operands, [](const WideOperand& operand) { return operand.kind == Kind::kSummed; });
    add_step(row.tensors, std::move(texts),
             sums ? FloatBehavior::kReassociates : FloatBehavior::kExact);
    return widened_[row] = true;
  }

  bool is_computed(const Row& row) const {
    return std::ranges::none_of(row.tensors,
                                [&](TensorId id) { return graph_.is_constant_expression(id); });
  }

  bool are_results_of_split(const Row& row) const {
    const NodeId its = graph_.tensor(row.tensors[0]).producer;
    if (!its.valid() || graph_.node(its).op->movement != Movement::kSplit) return false;
    const Node& split = graph_.node(its);
    return row.groups == 1 && split.outputs == row.tensors && ops::axis_by_role(split) == row.axis;
  }

  /// Results of different nodes of which none needs another.
  bool are_independent(const Row& row) const {
    std::set<NodeId> nodes;
    for (const TensorId id : row.tensors)
      if (!nodes.insert(graph_.tensor(id).producer).second) return false;
    return independence_.holds(nodes);
  }

  void add_step(std::vector<TensorId> results, std::vector<std::string> texts,
                FloatBehavior floats = FloatBehavior::kExact) {
    steps_.push_back({.results = std::move(results),
                      .texts = std::move(texts),
                      .description = kBlocksDescription,
                      .floats = floats});
  }

  const Graph& graph_;
  Independence independence_;
  std::vector<RewriteSequence> found_;
  std::set<TensorId> packed_;          ///< Widened for an end apart.
  std::map<TensorId, Axes> features_;  ///< Axes of features.
  std::vector<RewriteStep> steps_;     ///< Of the plan that is being made.
  std::map<Row, bool> widened_;        ///< Likewise.
  const Row* split_ = nullptr;         ///< What the plan makes the results of a split, or null.
};

}  // namespace

std::vector<RewriteSequence> find_blocks(const Graph& graph) { return BlockPlanner(graph).run(); }

}  // namespace soapstone::transforms
