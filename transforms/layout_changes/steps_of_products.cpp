#include "transforms/layout_changes/steps_of_products.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "transforms/layout_changes/moved_operator.h"
#include "transforms/layout_changes/moves.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/dimension_groups.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of a launch, in front of the reshape.
constexpr int kMostSteps = 4;
/// Of a constant that is repeated.
constexpr std::int64_t kMostRepeated = 1 << 16;

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

/// What stands behind the last of one reshape or several.
class StepMover {
 public:
  /// `places`: of nodes in the order of the graph.
  StepMover(const Graph& graph, const std::vector<std::size_t>& places, bool repeats,
            const Node& last)
      : graph_(graph), places_(places), repeats_(repeats), last_(last.outputs[0]),
        behind_(shape(last_)) {
    for (const Node* node = &last; node != nullptr; node = reshape_before(*node))
      reshaped_.insert(reshaped_.begin(), node->inputs[0]);
    product_shape_ = shape(reshaped_[0]);
    add_moved(last_);
  }

  /// Whether the first reshape is one of a contraction, or of steps behind one.
  bool has_head() const {
    const NodeId producer = graph_.tensor(reshaped_[0]).producer;
    return producer.valid() && !graph_.is_output(reshaped_[0]) &&
           graph_.consumers(reshaped_[0]).size() == 1 && !graph_.node(producer).op->is_opaque() &&
           !graph_.is_output(last_) && is_head(graph_.node(producer), kMostSteps);
  }

  std::vector<RewriteStep> steps() {
    std::vector<RewriteStep> found;
    while (!queue_.empty()) {
      const Node& node = graph_.node(queue_.begin()->second);
      queue_.erase(queue_.begin());
      auto text = rule_for(node);
      if (!text) continue;
      found.push_back({.results = {node.outputs[0]},
                       .texts = {*std::move(text)},
                       .description = kStepDescription});
      add_moved(node.outputs[0]);
    }
    return found;
  }

 private:
  Sizes shape(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  void add_moved(TensorId id) {
    moved_.insert(id);
    for (const NodeId reader : graph_.consumers(id))
      queue_.emplace(places_[reader.index()], reader);
  }

  /// The reshape of which only that one reads the result, or null.
  const Node* reshape_before(const Node& reshape) const {
    const TensorId id = reshape.inputs[0];
    const NodeId producer = graph_.tensor(id).producer;
    const bool is_such = producer.valid() && graph_.consumers(id).size() == 1 &&
                         !graph_.is_output(id) &&
                         graph_.node(producer).op->movement == Movement::kReshape &&
                         has_known_sizes(graph_, graph_.node(producer));
    return is_such ? &graph_.node(producer) : nullptr;
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

  /// None: the node does something else, or to something else, too.
  std::optional<std::string> rule_for(const Node& node) const {
    const ops::OpDefinition* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise || !keeps_places(node) ||
        node.outputs.size() != 1 || !has_known_sizes(graph_, node) ||
        shape(node.outputs[0]) != behind_ || moved_.contains(node.outputs[0]))
      return std::nullopt;
    std::string head;
    std::map<TensorId, std::string> names;
    SideText source, target;
    Names read, instead;
    for (const TensorId id : node.inputs) {
      if (!id.valid()) return std::nullopt;
      const bool is_moved = moved_.contains(id);
      const auto [known, is_new] = names.try_emplace(id, fmt::format("x{}", names.size()));
      const std::string& name = known->second;
      const Sizes own = is_moved ? product_shape_ : shape(id);
      if (is_new)
        head += fmt::format("  {}: {}\n", name, declared(graph_.tensor(id).type, names_of(own)));
      if (is_moved) {
        read.push_back(reshaped(source, name, id));
        instead.push_back(name);
        continue;
      }
      const auto before = shape_before(own, product_shape_, behind_);
      std::optional<std::string> same;
      if (before)
        same = target.reshaped(name, names_of(own), names_of(*before));
      else if (repeats_ && graph_.is_constant_expression(id))
        same = repeated(target, name, own);
      if (!same) return std::nullopt;
      read.push_back(name);
      instead.push_back(*same);
    }
    const std::string result = source.line(call_of(graph_, node, read));
    const std::string first = target.line(call_of(graph_, node, instead));
    const std::string whole = target.reshaped(first, names_of(product_shape_), names_of(behind_));
    return rule_text(fmt::format("{}{}", kMovesPrefix, node.op->name), head, source, {result},
                     target, {whole});
  }

  /// A moved tensor, of one of the product's shape: by all reshapes of the graph, or as steps write
  /// it.
  std::string reshaped(SideText& source, const std::string& name, TensorId id) const {
    std::string now = name;
    Names from = names_of(product_shape_);
    if (id == last_)
      for (std::size_t k = 1; k < reshaped_.size(); ++k) {
        const Names to = names_of(shape(reshaped_[k]));
        now = source.reshaped(now, from, to);
        from = to;
      }
    return source.reshaped(now, from, names_of(behind_));
  }

  /// The constant as it is broadcast against the tensor before the reshape. None: too large.
  std::optional<std::string> repeated(SideText& target, const std::string& name,
                                      const Sizes& constant) const {
    const std::int64_t elements = product_of(constant);
    if (elements == 1) return target.reshaped(name, names_of(constant), {});
    // As large as what varies: from its first dimension on.
    std::size_t own = constant.size();
    while (constant[constant.size() - own] == 1) --own;
    const Sizes varied(behind_.end() - static_cast<std::ptrdiff_t>(own), behind_.end());
    const std::int64_t period = product_of(varied);
    std::size_t last = product_shape_.size();
    std::int64_t covered = 1;
    while (last > 0 && covered % period != 0) covered *= product_shape_[--last];
    if (covered % period != 0 || covered > kMostRepeated) return std::nullopt;
    const Sizes to(product_shape_.begin() + static_cast<std::ptrdiff_t>(last),
                   product_shape_.end());
    Sizes from{1}, wide{covered / period};
    from.insert(from.end(), constant.end() - static_cast<std::ptrdiff_t>(own), constant.end());
    wide.insert(wide.end(), varied.begin(), varied.end());
    std::string now = target.reshaped(name, names_of(constant), names_of(from));
    if (from != wide) now = target.expanded(now, names_of(wide));
    return target.reshaped(now, names_of(wide), names_of(to));
  }

  const Graph& graph_;
  const std::vector<std::size_t>& places_;
  bool repeats_;                    ///< Constants.
  TensorId last_;                   ///< The result of the last reshape.
  std::vector<TensorId> reshaped_;  ///< The product's result, and those of the reshapes before.
  Sizes product_shape_, behind_;
  std::set<TensorId> moved_;  ///< Reshaped from the one shape to the other one.
  std::set<std::pair<std::size_t, NodeId>> queue_;  ///< Readers, by their places.
};

std::vector<RewriteSequence> steps_behind_reshapes(const Graph& graph, bool repeats) {
  std::vector<RewriteSequence> plans;
  std::vector<std::size_t> places(graph.node_bound());
  for (std::size_t k = 0; k < graph.order().size(); ++k) places[graph.order()[k].index()] = k;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kReshape || graph.is_constant_expression(id) ||
        !has_known_sizes(graph, node))
      continue;
    StepMover mover(graph, places, repeats, node);
    if (!mover.has_head()) continue;
    auto steps = mover.steps();
    if (!steps.empty()) plans.push_back({std::move(steps)});
  }
  return plans;
}

}  // namespace

std::vector<RewriteSequence> find_steps_of_products(const Graph& graph) {
  return steps_behind_reshapes(graph, false);
}

std::vector<RewriteSequence> find_steps_with_repeated_constants(const Graph& graph) {
  return steps_behind_reshapes(graph, true);
}

}  // namespace soapstone::transforms
