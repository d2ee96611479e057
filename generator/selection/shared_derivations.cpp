// See shared_derivations.h.
#include "generator/selection/shared_derivations.h"

#include <algorithm>

namespace soapstone::generator {

using rules::ClassId;
using rules::EGraph;

SharedDerivations::SharedDerivations(const DerivationLimits& limits)
    : limits_(limits), graph_(std::make_unique<EGraph>()), saturation_(*graph_) {}

std::size_t SharedDerivations::add(std::vector<Sides> examples) {
  Equality& equality = equalities_.emplace_back();
  equality.examples = std::move(examples);
  if (!equality.examples.empty()) add_example(equality);
  return equalities_.size() - 1;
}

/// Its inputs are those of other examples: an equality says the same of any tensor.
void SharedDerivations::add_example(Equality& equality) {
  const auto& [source, target] = equality.examples[equality.added++];
  const std::size_t before = graph_->node_count();
  std::map<rules::TypeId, std::size_t> of_type;
  std::vector<ClassId> inputs;
  for (core::TensorId id : source.inputs()) {
    const core::TensorType& type = source.tensor(id).type;
    const rules::TypeId type_id = graph_->intern(type);
    const auto [number, is_new] = input_numbers_.try_emplace(
        {type_id, of_type[type_id]++}, static_cast<std::uint32_t>(input_numbers_.size()));
    inputs.push_back(graph_->add_input(number->second, type));
  }
  const auto left = graph_->add_graph(source, inputs), right = graph_->add_graph(target, inputs);
  equality.sides.clear();
  for (std::size_t k = 0; k < source.outputs().size(); ++k)
    equality.sides.emplace_back(left[source.outputs()[k].index()],
                                right[target.outputs()[k].index()]);
  node_limit_ += limits_.nodes + graph_->node_count() - before;
}

bool SharedDerivations::is_joined(const Equality& equality) const {
  return equality.added > 0 && std::ranges::all_of(equality.sides, [&](const auto& sides) {
           return graph_->find(sides.first) == graph_->find(sides.second);
         });
}

bool SharedDerivations::follows(std::size_t number) const {
  const Equality& equality = equalities_[number];
  return equality.added == equality.examples.size() && is_joined(equality);
}

bool SharedDerivations::all_joined() const {
  return std::ranges::all_of(equalities_, [&](const Equality& e) { return is_joined(e); });
}

bool SharedDerivations::add_next_examples() {
  bool added = false;
  for (Equality& equality : equalities_)
    while (equality.added < equality.examples.size() && is_joined(equality)) {
      add_example(equality);
      added = true;
    }
  return added;
}

void SharedDerivations::saturate(const rules::SaturationRules& rules, const core::StopToken& stop) {
  rules::SaturationLimits limits;
  limits.rounds = limits_.rounds;
  limits.left_out = limits_.left_out;
  constexpr std::size_t kMostWaiting = 20'000;
  limits.waiting = kMostWaiting;
  if (known_rules_ > 0 && rules.size() > known_rules_) {
    // What new rules say of terms that are there shows at once.
    constexpr std::size_t kRoundsOfNew = 2, kShareOfNew = 4;
    node_limit_ = std::max(node_limit_, graph_->node_count() + limits_.nodes / kShareOfNew);
    limits.rounds = std::min(limits.rounds, kRoundsOfNew);
  }
  known_rules_ = rules.size();
  const auto is_done = [&](const EGraph&) { return all_joined(); };
  do {
    limits.nodes = node_limit_;
    saturation_.run(rules, limits, is_done, stop);
  } while (!stop.stop_requested() && add_next_examples());
}

}  // namespace soapstone::generator
