// Baseline rewriting to a fixed point, and value numbering.
#include "search/baseline/simplify.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "search/equivalence/opaque.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::TensorId;

/// Matches found on one graph stay good on a graph derived from it as long as none of their nodes
/// changed: ids are stable and a node that changed is another object.
bool still_holds(const Graph& now, const Graph& then, const rules::Match& match) {
  const auto unchanged = [&](NodeId id) {
    return now.contains(id) && &now.node(id) == &then.node(id);
  };
  return std::all_of(match.nodes.begin(), match.nodes.end(), unchanged) &&
         std::all_of(match.inputs.begin(), match.inputs.end(),
                     [&](TensorId id) { return now.contains(id); });
}

/// How far rewriting may go: many times further than rules that remove work ever do.
struct Bounds {
  explicit Bounds(const Graph& graph)
      : nodes(2 * graph.order().size() + 1000), rewrites(100 * graph.order().size() + 1000) {}
  std::size_t nodes, rewrites;
};

core::Error endless(const rules::Rule& rule, std::size_t rewrites, std::size_t nodes) {
  return core::invalid_input(
             fmt::format("the baseline rules come to no end: after {} rewrites the graph has {} "
                         "operators, and {} still applies",
                         rewrites, nodes, rule.name),
             "each baseline rule must remove work, or move it into constants")
      .at(fmt::format("{}:{}", rule.file.string(), rule.line));
}

/// One pass: all matches of the graph, each applied if it still holds. Whether there were any.
core::Result<bool> apply_once(Graph& graph, verifier::Admission& admission,
                              const ops::SpecialValues& specials, const Bounds& bounds,
                              std::size_t& rewrites, SimplifyReport& report,
                              const core::StopToken& stop, bool behind_opaque) {
  const rules::RuleSet& rules = admission.rules();
  const std::vector<bool> frozen =
      behind_opaque ? std::vector<bool>(graph.node_bound()) : depends_on_opaque(graph);
  std::vector<std::pair<core::RuleId, rules::Match>> found;
  rules.for_each_match(graph, [&](core::RuleId rule, const rules::Match& match) {
    const bool free =
        std::ranges::none_of(match.nodes, [&](NodeId id) { return bool{frozen[id.index()]}; });
    if (free) found.emplace_back(rule, match);
    return !stop.stop_requested();
  });
  const Graph then = graph;
  const ops::SpecialValues now = specials.again(then);
  bool changed = false;
  for (const auto& [rule, match] : found) {
    if (stop.stop_requested()) return false;
    if (!still_holds(graph, then, match)) continue;
    auto rewritten = rules::apply(graph, rules[rule], match);
    if (!rewritten || rewritten->hash() == graph.hash()) continue;
    if (!admission.admits(rule, match, verifier::specials_at(now, match))) continue;
    graph = *std::move(rewritten);
    changed = true;
    if (++rewrites > bounds.rewrites || graph.order().size() > bounds.nodes)
      return endless(rules[rule], rewrites, graph.order().size());
    ++report.rules_applied[rules[rule].base_name];
    report.steps.push_back({SimplifyStep::Kind::kRule, rule, match, graph.hash()});
  }
  return changed;
}

std::uint64_t value_number(const Graph& graph, NodeId id,
                           const std::vector<TensorId>& representative) {
  const core::Node& node = graph.node(id);
  std::uint64_t hash = core::hash_combine(node.op->hash(), node.attributes.hash());
  for (TensorId input : node.inputs) {
    const TensorId value = input.valid() ? representative[input.index()] : input;
    hash = core::hash_combine(hash, value.value);
  }
  return hash;
}

bool same_node(const core::Node& a, const core::Node& b,
               const std::vector<TensorId>& representative) {
  if (a.op != b.op || a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size() ||
      !(a.attributes == b.attributes)) {
    return false;
  }
  const auto value = [&](TensorId id) { return id.valid() ? representative[id.index()] : id; };
  return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(),
                    [&](TensorId x, TensorId y) { return value(x) == value(y); });
}

/// Equal constants count as one value, so that nodes over copies of a weight are found equal.
void unify_constants(const Graph& graph, std::vector<TensorId>& representative) {
  std::unordered_multimap<std::uint64_t, TensorId> seen;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    representative[i] = id;
    if (!graph.contains(id) || !graph.tensor(id).value) continue;
    const core::Literal& value = *graph.tensor(id).value;
    const auto [first, last] = seen.equal_range(value.hash());
    const auto twin = std::find_if(
        first, last, [&](const auto& entry) { return *graph.tensor(entry.second).value == value; });
    if (twin != last) {
      representative[i] = twin->second;
    } else {
      seen.emplace(value.hash(), id);
    }
  }
}

}  // namespace

Graph merge_duplicates(const Graph& original, int* merged, bool behind_opaque) {
  Graph graph = fold_numbers(name_constants(narrow_constants(original)));
  const std::vector<bool> frozen =
      behind_opaque ? std::vector<bool>(graph.node_bound()) : depends_on_opaque(graph);
  std::vector<TensorId> representative(graph.tensor_bound());
  unify_constants(graph, representative);
  std::unordered_multimap<std::uint64_t, NodeId> seen;
  std::vector<std::pair<TensorId, TensorId>> replacements;
  // Readers of one number share it, which siblings have in common.
  const auto may_share = [&](NodeId reader) {
    return !ops::is_opaque(graph.node(reader)) && !frozen[reader.index()];
  };
  for (std::size_t i = 0; i < representative.size(); ++i) {
    const TensorId id(i);
    if (representative[i] != id && !graph.is_output(id) &&
        std::ranges::all_of(graph.consumers(id), may_share))
      replacements.emplace_back(id, representative[i]);
  }
  int count = 0;
  for (NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    // An opaque node may have a state or an effect of its own (random numbers).
    if (ops::is_opaque(node) || frozen[id.index()]) continue;
    const std::uint64_t hash = value_number(graph, id, representative);
    const auto [first, last] = seen.equal_range(hash);
    const auto twin = std::find_if(first, last, [&](const auto& entry) {
      return same_node(graph.node(entry.second), node, representative);
    });
    if (twin == last) {
      seen.emplace(hash, id);
      continue;
    }
    ++count;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const TensorId kept = graph.node(twin->second).outputs[k];
      representative[node.outputs[k].index()] = kept;
      replacements.emplace_back(node.outputs[k], kept);
    }
  }
  if (merged != nullptr) *merged = count;
  if (replacements.empty()) return graph;
  GraphBuilder builder(graph);
  for (const auto& [from, to] : replacements) builder.replace_uses(from, to);
  auto result = std::move(builder).finish();
  CHECK(result.ok(), "merging equal nodes cannot make a cycle");
  return *std::move(result);
}

namespace {

std::size_t count_tensors(const Graph& graph) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) count += graph.contains(TensorId(i));
  return count;
}

void merge(Graph& graph, SimplifyReport& report, bool behind_opaque) {
  int merged = 0;
  const std::uint64_t before = graph.hash();
  const std::size_t tensors_before = count_tensors(graph);
  graph = merge_duplicates(graph, &merged, behind_opaque);
  report.merged_duplicates += merged;
  // Equal constants that become one leave the hash as it is; a later step may need that they are.
  if (graph.hash() != before || count_tensors(graph) != tensors_before)
    report.steps.push_back({.kind = SimplifyStep::Kind::kMergeDuplicates, .hash = graph.hash()});
}

void decide(Graph& graph, SimplifyReport& report, const MayVary& may_vary) {
  std::vector<NodeId> choices = decided_choices(graph, may_vary);
  if (choices.empty()) return;
  auto decided = decide_choices(graph, choices);
  CHECK(decided.has_value(), "these choices are decided");
  graph = *std::move(decided);
  SimplifyStep step{.kind = SimplifyStep::Kind::kDecideChoices, .hash = graph.hash()};
  step.match.nodes = std::move(choices);
  report.steps.push_back(std::move(step));
}

}  // namespace

core::Result<Graph> simplify(const Graph& graph, verifier::Admission& baseline,
                             SimplifyReport* report, const core::StopToken& stop,
                             const SimplifyOptions& options) {
  SimplifyReport own;
  SimplifyReport& what = report != nullptr ? *report : own;
  Graph result = graph;
  if (options.decides) decide(result, what, options.may_vary);
  merge(result, what, options.behind_opaque);
  const Bounds bounds(result);
  const ops::SpecialValues specials(graph, options.surroundings);
  std::size_t rewrites = 0;
  while (true) {
    SOAPSTONE_ASSIGN_OR_RETURN(const bool changed,
                               apply_once(result, baseline, specials, bounds, rewrites, what, stop,
                                          options.behind_opaque));
    if (!changed) return result;
    if (options.decides) decide(result, what, options.may_vary);
    merge(result, what, options.behind_opaque);
  }
}

}  // namespace soapstone::search
