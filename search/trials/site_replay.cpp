// Ids count what was added, so a replay that leaves steps out numbers later nodes differently. A
// translation follows both ways side by side.
#include "search/trials/site_replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "rules/matching/rewrite.h"
#include "search/base/find_again.h"

namespace soapstone::search {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// By id in the candidate: the id in the replay, none where there is no such thing.
class SiteReplay::Translation {
 public:
  explicit Translation(const Graph& base) {
    for (std::size_t k = 0; k < base.node_bound(); ++k) nodes_.emplace_back(k);
    for (std::size_t k = 0; k < base.tensor_bound(); ++k) tensors_.emplace_back(k);
  }

  template <class Id>
  std::vector<Id> operator()(const std::vector<Id>& ids) const {
    std::vector<Id> translated;
    for (const Id id : ids) translated.push_back(of(id));
    return translated;
  }

  /// The step was made here, too, on a graph with these bounds.
  void follow(const Added& added, std::size_t node_bound, std::size_t tensor_bound) {
    grow(added);
    for (std::size_t k = added.nodes_before; k < added.nodes_after; ++k)
      nodes_[k] = NodeId(node_bound + k - added.nodes_before);
    for (std::size_t k = added.tensors_before; k < added.tensors_after; ++k)
      tensors_[k] = TensorId(tensor_bound + k - added.tensors_before);
  }

  /// The step was left out: the tensors that it would have replaced stay in their place.
  void skip(const Added& added, const rules::Match& match) {
    grow(added);
    for (std::size_t k = 0; k < match.outputs.size(); ++k)
      if (added.results[k].index() >= added.tensors_before)
        tensors_[added.results[k].index()] = of(match.outputs[k]);
  }

 private:
  NodeId of(NodeId id) const { return id.valid() ? nodes_[id.index()] : id; }
  TensorId of(TensorId id) const { return id.valid() ? tensors_[id.index()] : id; }
  void grow(const Added& added) {
    nodes_.resize(added.nodes_after);
    tensors_.resize(added.tensors_after);
  }

  std::vector<NodeId> nodes_;
  std::vector<TensorId> tensors_;
};

SiteReplay::SiteReplay(const Graph& base, std::vector<Step> steps, verifier::Admission& rules)
    : base_(base), steps_(std::move(steps)), rules_(rules) {
  Graph graph = base;
  for (const Step& step : steps_) {
    auto next = rules::apply_and_follow(graph, step.rewriting(rules.rules()), step.match);
    CHECK(next.ok(), "a rewrite that fitted once does not fit again");
    added_.push_back({graph.node_bound(), next->graph.node_bound(), graph.tensor_bound(),
                      next->graph.tensor_bound(), std::move(next->results)});
    graph = std::move(next->graph);
  }
  divide_sites();
}

/// Whether a step matches what an earlier one has added, or a node that the earlier one matched.
bool SiteReplay::builds_on(std::size_t later, std::size_t earlier) const {
  const rules::Match& match = steps_[later].match;
  const Added& added = added_[earlier];
  const auto& before = steps_[earlier].match.nodes;
  return std::ranges::any_of(match.nodes,
                             [&](NodeId id) {
                               return (id.index() >= added.nodes_before &&
                                       id.index() < added.nodes_after) ||
                                      std::ranges::find(before, id) != before.end();
                             }) ||
         std::ranges::any_of(match.inputs, [&](TensorId id) {
           return id.valid() && id.index() >= added.tensors_before &&
                  id.index() < added.tensors_after;
         });
}

void SiteReplay::divide_sites() {
  for (std::size_t first = 0, end = 0; first < steps_.size(); first = end) {
    const std::uint32_t site = steps_[first].site;
    std::vector<std::uint32_t> part;  // by step of the site: a step that it belongs to
    for (; end < steps_.size() && steps_[end].site == site; ++end) {
      const auto mine = static_cast<std::uint32_t>(end - first);
      part.push_back(mine);
      for (std::uint32_t k = 0; k < mine; ++k)
        if (part[k] != mine && builds_on(end, first + k))
          std::ranges::replace(part, std::uint32_t{part[k]}, mine);
    }
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::size_t k = 0; k < part.size(); ++k) {
      const auto ordinal =
          numbers.emplace(part[k], static_cast<std::uint32_t>(numbers.size())).first->second;
      steps_[first + k].site = static_cast<std::uint32_t>(sites_) + ordinal;
      steps_[first + k].kind = core::hash_combine(steps_[first + k].kind, ordinal);
    }
    sites_ += numbers.size();
  }
}

/// None if a site could not be applied: then it is chosen no more.
std::optional<Replayed> SiteReplay::try_with(std::vector<bool>& chosen) const {
  Replayed result{base_, {}, chosen};
  Translation translation(base_);
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const Step& step = steps_[k];
    if (!chosen[step.site]) {
      translation.skip(added_[k], step.match);
      continue;
    }
    const auto nodes = translation(step.match.nodes);
    const auto inputs = translation(step.match.inputs);
    const auto match =
        find_again(result.graph, rules_, {step.id, step.lemma, nodes, inputs, step.match.sizes});
    auto next = match ? rules::apply(result.graph, step.rewriting(rules_.rules()), *match)
                      : core::Result<Graph>(core::invalid_input("it is not there"));
    if (!next) {
      chosen[step.site] = false;
      return std::nullopt;
    }
    translation.follow(added_[k], result.graph.node_bound(), result.graph.tensor_bound());
    result.graph = *std::move(next);
    result.steps.push_back(step);
    result.steps.back().match = *match;
  }
  return result;
}

Replayed SiteReplay::with(std::vector<bool> chosen) const {
  for (;;)
    if (auto result = try_with(chosen)) return *std::move(result);
}

}  // namespace soapstone::search
