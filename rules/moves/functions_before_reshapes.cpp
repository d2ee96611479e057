#include "rules/moves/functions_before_reshapes.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ops/definition/registry.h"
#include "rules/moves/move_text.h"
#include "rules/moves/moved_operator.h"
#include "rules/moves/moves.h"
#include "rules/moves/view.h"

namespace soapstone::rules {
namespace {

using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Of a constant that is repeated.
constexpr std::int64_t kMostRepeated = 1 << 16;

class FunctionMover {
 public:
  /// `places`: of nodes in the order of the graph.
  FunctionMover(const Graph& graph, const std::vector<std::size_t>& places, const Node& reshape)
      : graph_(graph), places_(places), before_(sizes(reshape.inputs[0])),
        behind_(sizes(reshape.outputs[0])) {
    add_moved(reshape.outputs[0]);
  }

  std::vector<PlanStep> steps() {
    std::vector<PlanStep> found;
    while (!queue_.empty()) {
      const Node& node = graph_.node(queue_.begin()->second);
      queue_.erase(queue_.begin());
      auto text = rule_for(node);
      if (!text) continue;
      found.push_back({.results = {node.outputs[0]},
                       .texts = {*std::move(text)},
                       .description = "What is done to each element is done before a reshape."});
      add_moved(node.outputs[0]);
    }
    return found;
  }

 private:
  void add_moved(TensorId id) {
    moved_.insert(id);
    for (const NodeId reader : graph_.consumers(id))
      queue_.emplace(places_[reader.index()], reader);
  }
  Sizes sizes(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }

  /// None: the node does something else, or to something else, too.
  std::optional<std::string> rule_for(const Node& node) {
    const ops::OpDefinition* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise || !keeps_places(node) ||
        node.outputs.size() != 1 || !has_known_sizes(graph_, node) ||
        sizes(node.outputs[0]) != behind_ || moved_.contains(node.outputs[0]))
      return std::nullopt;
    std::string head;
    std::map<TensorId, std::string> names;
    SideText source, target;
    Names read, instead;
    for (const TensorId id : node.inputs) {
      if (!id.valid()) return std::nullopt;
      const bool is_moved = moved_.contains(id);
      const bool is_constant = graph_.is_constant_expression(id);
      if (!is_moved && !is_constant && sizes(id) != behind_) return std::nullopt;
      const auto [known, is_new] = names.try_emplace(id, fmt::format("x{}", names.size()));
      const std::string& name = known->second;
      const Names shape = names_of(is_moved ? before_ : sizes(id));
      if (is_new) head += fmt::format("  {}: {}\n", name, declared(graph_.tensor(id).type, shape));
      read.push_back(is_moved ? source.reshaped(name, shape, names_of(behind_)) : name);
      if (is_moved) {
        instead.push_back(name);
        continue;
      }
      const auto same = is_constant ? repeated(target, name, sizes(id))
                                    : target.reshaped(name, names_of(behind_), names_of(before_));
      if (!same) return std::nullopt;
      instead.push_back(*same);
    }
    const std::string result = source.line(call_of(graph_, node, read));
    const std::string first = target.line(call_of(graph_, node, instead));
    const std::string whole = target.reshaped(first, names_of(before_), names_of(behind_));
    return rule_text(fmt::format("{}{}", kMovesPrefix, node.op->name), head, source, {result},
                     target, {whole});
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
    std::size_t last = before_.size();
    std::int64_t covered = 1;
    while (last > 0 && covered % period != 0) covered *= before_[--last];
    if (covered % period != 0 || covered > kMostRepeated) return std::nullopt;
    const Sizes to(before_.begin() + static_cast<std::ptrdiff_t>(last), before_.end());
    Sizes from{1}, wide{covered / period};
    from.insert(from.end(), constant.end() - static_cast<std::ptrdiff_t>(own), constant.end());
    wide.insert(wide.end(), varied.begin(), varied.end());
    std::string now = target.reshaped(name, names_of(constant), names_of(from));
    if (from != wide) now = target.line(fmt::format("expand({}; shape=[{}])", now, list_of(wide)));
    return target.reshaped(now, names_of(wide), names_of(to));
  }

  const Graph& graph_;
  const std::vector<std::size_t>& places_;
  Sizes before_, behind_;
  std::set<TensorId> moved_;  ///< Reshaped from the one shape to the other one.
  std::set<std::pair<std::size_t, NodeId>> queue_;  ///< Readers, by their places.
};

}  // namespace

std::vector<RewritePlan> find_functions_before_reshapes(const Graph& graph) {
  std::vector<RewritePlan> plans;
  std::vector<std::size_t> places(graph.node_bound());
  for (std::size_t k = 0; k < graph.order().size(); ++k) places[graph.order()[k].index()] = k;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (node.op->movement != Movement::kReshape || graph.is_constant_expression(id) ||
        !has_known_sizes(graph, node))
      continue;
    const NodeId its = graph.tensor(node.inputs[0]).producer;
    const ops::OpDefinition* const op = its.valid() ? ops::definition_of(graph.node(its)) : nullptr;
    if (op == nullptr || op->op_class != ops::OpClass::kContraction) continue;
    auto steps = FunctionMover(graph, places, node).steps();
    if (!steps.empty()) plans.push_back({std::move(steps)});
  }
  return plans;
}

}  // namespace soapstone::rules
