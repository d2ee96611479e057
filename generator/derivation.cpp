// See derivation.h.
#include "generator/derivation.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "generator/term_hash.h"
#include "ops/registry.h"

namespace soapstone::generator {
namespace {

using core::Graph;

/// The graph with a node behind each result that no rule knows: then a result may become an input,
/// or the same as another one, which a graph that is to be kept must not do.
Graph with_marked_results(const Graph& graph) {
  core::GraphBuilder builder(graph);
  std::vector<core::TensorId> marked;
  for (core::TensorId id : graph.outputs()) {
    const core::Attributes attributes{
        {"domain", ""}, {"op_type", std::string("Result")}, {"proto", ""}};
    marked.push_back(
        builder.add_node(ops::opaque_schema(), attributes, {id}, {graph.tensor(id).type})[0]);
    builder.set_name(id, "");
  }
  builder.set_outputs(std::move(marked));
  auto finished = std::move(builder).finish();
  return with_shared_nodes(*std::move(finished));
}

/// All that rules make of one graph, in the order in which it is found.
class Reached {
 public:
  Reached(const Graph& start, std::size_t most_nodes, const DerivationLimits& limits)
      : most_nodes_(most_nodes), limits_(limits) {
    add(with_marked_results(start));
  }

  bool contains(std::uint64_t hash) const { return hashes_.contains(hash); }
  std::uint64_t start() const { return first_; }
  bool is_done() const { return next_ >= graphs_.size() || graphs_.size() >= limits_.graphs; }

  /// Rewrites the next graph in every way. True as soon as something is in `other`.
  bool expand(const rules::RuleSet& rules, const Reached& other) {
    const Graph graph = graphs_[next_++];
    bool met = false;
    rules.for_each_match(graph, [&](core::RuleId id, const rules::Match& match) {
      if (rules::closes_cycle(graph, rules[id], match)) return true;
      auto rewritten = rules::apply(graph, rules[id], match);
      if (!rewritten) return true;
      const std::uint64_t hash = add(*std::move(rewritten));
      met = hash != 0 && other.contains(hash);
      return !met && graphs_.size() < limits_.graphs;
    });
    return met;
  }

 private:
  /// Its hash; 0 if it is too large or known.
  std::uint64_t add(Graph graph) {
    const std::uint64_t hash = term_hash(graph);
    if (hashes_.contains(hash)) return 0;
    if (!graphs_.empty()) graph = with_shared_nodes(std::move(graph));
    if (!graphs_.empty() && graph.order().size() > most_nodes_) return 0;
    if (graphs_.empty()) first_ = hash;
    hashes_.insert(hash);
    graphs_.push_back(std::move(graph));
    return hash;
  }

  std::size_t most_nodes_;
  const DerivationLimits& limits_;
  std::vector<Graph> graphs_;
  std::unordered_set<std::uint64_t> hashes_;
  std::size_t next_ = 0;
  std::uint64_t first_ = 0;
};

}  // namespace

bool derivable(const Graph& a, const Graph& b, const rules::RuleSet& rules,
               const DerivationLimits& limits) {
  const std::size_t most =
      std::max(a.order().size(), b.order().size()) + a.outputs().size() + limits.more_operators;
  Reached from_a(a, most, limits), from_b(b, most, limits);
  if (from_b.contains(from_a.start())) return true;
  while (!from_a.is_done() || !from_b.is_done()) {
    if (!from_a.is_done() && from_a.expand(rules, from_b)) return true;
    if (!from_b.is_done() && from_b.expand(rules, from_a)) return true;
  }
  return false;
}

}  // namespace soapstone::generator
