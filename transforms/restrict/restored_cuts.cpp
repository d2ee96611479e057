#include "transforms/restrict/restored_cuts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "transforms/affine/linearity.h"
#include "transforms/base/source_text.h"
#include "transforms/layout_changes/moved_pads.h"
#include "transforms/restrict/demand.h"
#include "transforms/restrict/partial_operator.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Dims;
using core::Graph;
using core::Movement;
using core::Node;

/// Between the frame and the product.
constexpr std::size_t kMostBetween = 4;

class CutRestorer {
 public:
  CutRestorer(const Graph& graph, NodeId frame) : graph_(graph), frame_(frame) {}

  std::optional<std::string> text() {
    if (!is_frame_of_zeros(graph_, frame())) return std::nullopt;
    around_ = ops::ints_by_role(frame(), AttributeRole::kBorder);
    if (!find_product()) return std::nullopt;
    const Node& product = graph_.node(product_);
    Texts operands;
    std::size_t restored = 0;
    for (const TensorId id : product.inputs) {
      const std::optional<TensorId> whole = whole_of(id);
      restored += whole ? 1 : 0;
      operands.push_back(whole ? SourceText::name(*whole) : framed(id));
    }
    if (restored != 1) return std::nullopt;
    std::string result = add_line(call_of(graph_, product, operands));
    for (auto id = between_.rbegin(); id != between_.rend(); ++id)
      result = add_line(call_of(graph_, graph_.node(*id), {result}));
    const SizeTexts sizes(graph_, false);
    SourceText source(graph_, sizes);
    for (const NodeId id : between_) source.add(id);
    for (const NodeId id : cuts_) source.add(id);
    source.add(product_);
    source.add(frame_);
    lines_.push_back(fmt::format("    {} = {}\n", SourceText::name(frame().outputs[0]), result));
    return rule_for(fmt::format("{}{}", kDemandPrefix, frame().op->name), source, lines_);
  }

 private:
  const Node& frame() const { return graph_.node(frame_); }
  Dims shape(TensorId id) const { return *core::concrete(graph_.tensor(id).type.shape); }

  /// Goes up to the product; what is around it in its own dimensions.
  bool find_product() {
    TensorId at = frame().inputs[0];
    while (between_.size() <= kMostBetween) {
      const NodeId its = graph_.tensor(at).producer;
      if (!its.valid() || graph_.is_constant_expression(at)) return false;
      const Node& node = graph_.node(its);
      if (node.op->is_opaque() || node.outputs.size() != 1 || !has_known_sizes(graph_, node))
        return false;
      if (node.op->name == "mul") {
        product_ = its;
        const Dims result = shape(at);
        return std::ranges::all_of(node.inputs,
                                   [&](TensorId input) { return shape(input) == result; });
      }
      if (node.inputs.size() != 1 || !move_frame_above(node)) return false;
      between_.push_back(its);
      at = node.inputs[0];
    }
    return false;
  }

  /// Each axis with zeros has to be one of the operand.
  bool move_frame_above(const Node& node) {
    const std::size_t rank = shape(node.inputs[0]).size(), below = around_.size() / 2;
    Dims above(2 * rank, 0);
    std::size_t moved = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto kept = kept_axis(graph_, node, {std::optional(d)});
      if (!kept) continue;
      above[d] = around_[kept->front()];
      above[rank + d] = around_[below + kept->front()];
      moved += above[d] != 0 || above[rank + d] != 0 ? 1 : 0;
    }
    std::size_t wanted = 0;
    for (std::size_t d = 0; d < below; ++d)
      wanted += around_[d] != 0 || around_[below + d] != 0 ? 1 : 0;
    around_ = std::move(above);
    return moved == wanted;
  }

  /// The tensor of which the factor is the piece that the frame leaves free.
  std::optional<TensorId> whole_of(TensorId factor) {
    const NodeId its = graph_.tensor(factor).producer;
    if (!its.valid() || graph_.node(its).op->is_opaque()) return std::nullopt;
    const Node& node = graph_.node(its);
    const auto box = piece_taken(node, graph_);
    if (!box || node.inputs.size() != 1) return std::nullopt;
    const Dims whole = shape(node.inputs[0]);
    const std::size_t rank = whole.size();
    if (2 * rank != around_.size() || box->size() != rank) return std::nullopt;
    for (std::size_t d = 0; d < rank; ++d) {
      const bool fits =
          (*box)[d].low == around_[d] && (*box)[d].high + around_[rank + d] == whole[d];
      if (!fits) return std::nullopt;
    }
    cuts_.push_back(its);
    return node.inputs[0];
  }

  std::string framed(TensorId factor) {
    const Node there = ops::with_ints(frame(), AttributeRole::kBorder, around_);
    return add_line(call_of(graph_, there, {SourceText::name(factor)}));
  }

  std::string add_line(const std::string& call) {
    std::string result = fmt::format("n{}", lines_.size() + 1);
    lines_.push_back(fmt::format("    {} = {}\n", result, call));
    return result;
  }

  const Graph& graph_;
  NodeId frame_, product_ = NodeId::none();
  Dims around_;                  ///< Zeros, in the dimensions of the node that was come to.
  std::vector<NodeId> between_;  ///< From the frame upwards.
  std::vector<NodeId> cuts_;     ///< That are not needed.
  Texts lines_;                  ///< Of the target.
};

}  // namespace

std::vector<RewriteSequence> find_restored_cuts(const Graph& graph) {
  std::vector<RewriteSequence> plans;
  for (const NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    if (auto text = CutRestorer(graph, id).text())
      plans.push_back({{{.results = {graph.node(id).outputs[0]},
                         .texts = {*std::move(text)},
                         .description = "A product with zeros is zero.",
                         .floats = FloatBehavior::kReassociates}}});
  }
  return plans;
}

}  // namespace soapstone::transforms
