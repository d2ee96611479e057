// Replaces a match by the rule's target. The target is typed anew on the sizes at hand: whatever
// the rule promised, a node whose shapes do not fit is never built.
#include <algorithm>

#include "ops/definition/registry.h"
#include "rules/matching/rewrite.h"
#include "rules/rule/substitute.h"

namespace soapstone::rules {

namespace {

core::Error no_use(std::string message) { return core::invalid_input(std::move(message)); }

class RuleApplication {
 public:
  RuleApplication(Edited& edited, const Rule& rule, const Match& match)
      : rule_(rule), match_(match), builder_(edited.builder), outputs_(edited.outputs),
        ids_(rule.target.tensor_bound()) {}

  core::Status run() {
    for (std::size_t k = 0; k < match_.inputs.size(); ++k)
      ids_[rule_.target.inputs()[k].index()] = match_.inputs[k];
    for (NodeId id : rule_.target.order()) SOAPSTONE_RETURN_IF_ERROR(add(rule_.target.node(id)));
    for (std::size_t k = 0; k < match_.outputs.size(); ++k)
      SOAPSTONE_RETURN_IF_ERROR(check_result(k));
    for (std::size_t k = 0; k < match_.outputs.size(); ++k) {
      builder_.replace_uses(match_.outputs[k], result(k));
      std::ranges::replace(outputs_, match_.outputs[k], result(k));
    }
    return core::Done{};
  }

  std::vector<TensorId> results() {
    std::vector<TensorId> results;
    for (std::size_t k = 0; k < match_.outputs.size(); ++k) results.push_back(result(k));
    return results;
  }

 private:
  TensorId id_of(TensorId id) {
    if (!id.valid()) return id;
    TensorId& mine = ids_[id.index()];
    if (!mine.valid()) mine = builder_.add_constant(rule_.target.tensor(id).value);
    return mine;
  }

  TensorId result(std::size_t k) { return id_of(rule_.target.outputs()[k]); }

  core::Status add(const core::Node& node) {
    std::vector<TensorId> inputs;
    std::vector<core::TensorType> types;
    inputs.reserve(node.inputs.size());
    types.reserve(node.inputs.size());
    for (TensorId input : node.inputs) {
      inputs.push_back(id_of(input));
      types.push_back(input.valid() ? builder_.tensor(inputs.back()).type
                                    : core::TensorType{core::DataType::kOther, {}, false});
    }
    auto attributes = with_numbers(*node.op, node.attributes, match_.sizes);
    if (!attributes) return no_use("a size of the target does not fit into 64 bits");
    SOAPSTONE_ASSIGN_OR_RETURN(auto results, ops::infer_types(*node.op, *attributes, types));
    if (results.size() != node.outputs.size())
      return no_use("the target has another number of results for these sizes");
    const auto made =
        builder_.add_node(*node.op, *std::move(attributes), std::move(inputs), std::move(results));
    for (std::size_t k = 0; k < made.size(); ++k) ids_[node.outputs[k].index()] = made[k];
    return core::Done{};
  }

  bool is_output(TensorId id) const { return std::ranges::find(outputs_, id) != outputs_.end(); }

  /// A graph output that has a name keeps it, so it cannot become a tensor that must keep its own.
  core::Status check_result(std::size_t k) {
    const TensorId old = match_.outputs[k];
    const core::Tensor& now = builder_.tensor(result(k));
    if (now.type != builder_.tensor(old).type)
      return no_use("a result of the target has another type than what it replaces");
    if (!is_output(old) || builder_.tensor(old).name.empty()) return core::Done{};
    bool shared = !now.producer.valid() || is_output(result(k));
    for (std::size_t j = 0; j < k; ++j)
      shared = shared || (result(j) == result(k) && is_output(match_.outputs[j]));
    if (shared) return no_use("a graph output would lose its name");
    return core::Done{};
  }

  const Rule& rule_;
  const Match& match_;
  core::GraphBuilder& builder_;
  std::vector<TensorId>& outputs_;
  std::vector<TensorId> ids_;
};

/// The inputs of the rule that each result of its target needs.
std::vector<std::vector<bool>> needed_inputs(const Graph& target) {
  std::vector<std::vector<bool>> needs(target.tensor_bound(),
                                       std::vector<bool>(target.inputs().size()));
  for (std::size_t k = 0; k < target.inputs().size(); ++k)
    needs[target.inputs()[k].index()][k] = true;
  for (NodeId id : target.order()) {
    const core::Node& node = target.node(id);
    std::vector<bool> all(target.inputs().size());
    for (TensorId input : node.inputs)
      for (std::size_t k = 0; input.valid() && k < all.size(); ++k)
        all[k] = all[k] || needs[input.index()][k];
    for (TensorId output : node.outputs) needs[output.index()] = all;
  }
  std::vector<std::vector<bool>> of_results;
  for (TensorId output : target.outputs()) of_results.push_back(needs[output.index()]);
  return of_results;
}

/// The replaced tensors among the ancestors of `from` (itself included), not looking past them.
std::vector<bool> replaced_ancestors(const Graph& graph, const Match& match, TensorId from) {
  std::vector<bool> found(match.outputs.size()), seen(graph.node_bound());
  std::vector<TensorId> pending{from};
  while (!pending.empty()) {
    const TensorId id = pending.back();
    pending.pop_back();
    const auto replaced = std::ranges::find(match.outputs, id);
    if (replaced != match.outputs.end()) {
      found[static_cast<std::size_t>(replaced - match.outputs.begin())] = true;
      continue;
    }
    const NodeId producer = graph.tensor(id).producer;
    if (!producer.valid() || seen[producer.index()]) continue;
    seen[producer.index()] = true;
    for (TensorId input : graph.node(producer).inputs)
      if (input.valid()) pending.push_back(input);
  }
  return found;
}

}  // namespace

bool closes_cycle(const Graph& graph, const Rule& rule, const Match& match) {
  const std::size_t count = match.outputs.size();
  if (count <= 1) return false;
  // reaches[i][j]: new result j is computed from new result i.
  std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
  const auto needs = needed_inputs(rule.target);
  for (std::size_t k = 0; k < match.inputs.size(); ++k) {
    const auto above = replaced_ancestors(graph, match, match.inputs[k]);
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t i = 0; needs[j][k] && i < count; ++i)
        reaches[i][j] = reaches[i][j] || above[i];
  }
  for (std::size_t via = 0; via < count; ++via)
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; reaches[i][via] && j < count; ++j)
        reaches[i][j] = reaches[i][j] || reaches[via][j];
  for (std::size_t i = 0; i < count; ++i)
    if (reaches[i][i]) return true;
  return false;
}

Result<std::vector<TensorId>> apply_to(Edited& edited, const Rule& rule, const Match& match) {
  RuleApplication application(edited, rule, match);
  SOAPSTONE_RETURN_IF_ERROR(application.run());
  return application.results();
}

Result<Applied> apply_and_follow(const Graph& graph, const Rule& rule, const Match& match) {
  Edited edited(graph);
  SOAPSTONE_ASSIGN_OR_RETURN(std::vector<TensorId> results, apply_to(edited, rule, match));
  SOAPSTONE_ASSIGN_OR_RETURN(Graph after, std::move(edited.builder).finish());
  return Applied{std::move(after), std::move(results)};
}

Result<Graph> apply(const Graph& graph, const Rule& rule, const Match& match) {
  Edited edited(graph);
  SOAPSTONE_RETURN_IF_ERROR(RuleApplication(edited, rule, match).run());
  return std::move(edited.builder).finish();
}

Result<Graph> apply_all(const Graph& graph, std::span<const RewriteBy> rewrites) {
  Edited edited(graph);
  for (const RewriteBy& rewrite : rewrites)
    SOAPSTONE_RETURN_IF_ERROR(RuleApplication(edited, rewrite.rule, rewrite.match).run());
  return std::move(edited.builder).finish();
}

}  // namespace soapstone::rules
