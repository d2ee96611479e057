#include "transforms/layout_changes/moved_pads.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/layout_changes/moves.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::string_view kPadDescription =
    "Zeros around a moved tensor are those of convolutions.";
class PadPlanner {
 public:
  explicit PadPlanner(const Graph& graph) : graph_(graph) {}

  std::optional<RewriteSequence> plan(const Node& pad) {
    if (graph_.is_constant_expression(pad.outputs[0]) || !is_frame_of_zeros(graph_, pad) ||
        !follow(pad) || !move_pads(pad))
      return std::nullopt;
    RewriteSequence plan{{moved(pad)}};
    for (const NodeId id : graph_.consumers(end_)) {
      const Node& node = graph_.node(id);
      if (node.inputs[0] == end_ && ops::is_convolution(node) && has_known_sizes(graph_, node))
        plan.steps.push_back(taken(pad, node));
    }
    return plan.steps.size() > 1 ? std::optional(std::move(plan)) : std::nullopt;
  }

 private:
  Sizes shape_of(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }

  /// All reshapes and transposes behind it that nothing else reads.
  bool follow(const Node& pad) {
    end_ = pad.outputs[0];
    view_.emplace(shape_of(end_));
    while (graph_.consumers(end_).size() == 1 && !graph_.is_output(end_)) {
      const Node& node = graph_.node(graph_.consumers(end_)[0]);
      if (!is_move(node) || !has_known_sizes(graph_, node)) break;
      if (!move(*view_, node, shape_of(node.outputs[0]))) return false;
      end_ = node.outputs[0];
    }
    return end_ != pad.outputs[0];
  }

  /// Each axis with zeros has to be an axis of places of the moved tensor.
  bool move_pads(const Node& pad) {
    const View coarse = view_->coarsened();
    const Sizes inner = shape_of(pad.inputs[0]), outer = shape_of(pad.outputs[0]);
    const core::Dims around = ops::ints_by_role(pad, AttributeRole::kBorder);
    const std::size_t rank = coarse.dims().size();
    around_.assign(2 * rank, 0);
    std::vector<View::Factor> factors = coarse.factors();
    const std::vector<bool> undivided = coarse.undivided();
    std::size_t factor = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) {
      const std::size_t first = factor;
      for (std::int64_t left = outer[d]; left > 1 && factor < factors.size(); ++factor)
        left /= factors[factor].size;
      if (inner[d] == outer[d]) continue;
      if (!undivided[d] || factor != first + 1 || inner[d] == 1) return false;
      const auto at = std::ranges::find(coarse.dims(), View::Factors{first});
      const auto axis = static_cast<std::size_t>(at - coarse.dims().begin());
      if (at == coarse.dims().end() || axis < kFirstPlaces) return false;
      factors[first].size = inner[d];
      around_[axis] = around[d];
      around_[rank + axis] = around[outer.size() + d];
    }
    inner_.emplace(inner, std::move(factors), coarse.dims());
    return true;
  }

  /// For any sizes of what has no zeros yet, and for those of the graph.
  RewriteStep moved(const Node& pad) const {
    Names any(inner_->base_shape().size()), around(any.size());
    const core::Dims pads = ops::ints_by_role(pad, AttributeRole::kBorder);
    for (std::size_t d = 0; d < any.size(); ++d) {
      const std::int64_t more = pads[d] + pads[any.size() + d];
      if (more == 0) continue;
      any[d] = fmt::format("n{}", d);
      around[d] = fmt::format("n{} + {}", d, more);
    }
    return {.results = {end_},
            .texts = {moved_text(pad, inner_->named(any), view_->coarsened().named(around)),
                      moved_text(pad, *inner_, *view_)},
            .description = kPadDescription};
  }

  std::string moved_text(const Node& pad, const View& inner, const View& outer) const {
    SideText source, target;
    const std::string head = fmt::format(
        "  x: {}\n", declared(graph_.tensor(pad.inputs[0]).type, inner.base_shape_text()));
    const std::string from = source.viewed(source.line(call_of(graph_, pad, {"x"})), outer);
    const Node there = ops::with_ints(pad, AttributeRole::kBorder, around_);
    const std::string to = target.line(call_of(graph_, there, {target.viewed("x", inner)}));
    return rule_text(fmt::format("{}{}", kMovesPrefix, pad.op->name), head, source, {from}, target,
                     {to});
  }

  /// The convolution with the zeros as its own.
  RewriteStep taken(const Node& pad, const Node& node) const {
    SideText source, target;
    const core::DataType type = graph_.tensor(end_).type.data_type;
    std::string head = fmt::format("  x: {}\n", declared({type, {}}, names_of(inner_->shape())));
    const std::size_t rank = around_.size() / 2;
    core::Dims pads = ops::ints_by_role(node, AttributeRole::kPad);
    for (std::size_t k = 0; k < pads.size(); ++k) {
      const std::size_t axes = rank - kFirstPlaces;
      pads[k] += around_[kFirstPlaces + k % axes + (k < axes ? 0 : rank)];
    }
    const Node there = ops::with_ints(pad, AttributeRole::kBorder, around_);
    Names before{source.line(call_of(graph_, there, {"x"}))}, after{"x"};
    for (const std::string& name : declared_weights(graph_, node, head)) {
      before.push_back(name);
      after.push_back(name);
    }
    const std::string from = source.line(call_of(graph_, node, before));
    const std::string to =
        target.line(call_of(graph_, ops::with_ints(node, AttributeRole::kPad, pads), after));
    return {.results = node.outputs,
            .texts = {rule_text(fmt::format("{}{}", kMovesPrefix, node.op->name), head, source,
                                {from}, target, {to})},
            .description = kPadDescription};
  }

  const Graph& graph_;
  TensorId end_ = TensorId::none();  ///< What the moves give.
  std::optional<View> view_, inner_;
  core::Dims around_;  ///< Of the moved tensor.
};

}  // namespace

bool is_frame_of_zeros(const Graph& graph, const Node& node) {
  if (node.op->movement != core::Movement::kFrame || !has_known_sizes(graph, node) ||
      node.attributes.get_real(node.op->find_role(AttributeRole::kReal)->name) != 0)
    return false;
  const core::Dims around = ops::ints_by_role(node, AttributeRole::kBorder),
                   between = ops::ints_by_role(node, AttributeRole::kGap);
  return std::ranges::all_of(around, [](std::int64_t n) { return n >= 0; }) &&
         std::ranges::all_of(between, [](std::int64_t n) { return n == 0; });
}

std::vector<RewriteSequence> find_moved_pads(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order())
    if (auto plan = PadPlanner(graph).plan(graph.node(id))) plans.push_back(*std::move(plan));
  return plans;
}

}  // namespace soapstone::transforms
