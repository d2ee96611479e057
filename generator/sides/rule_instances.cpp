// See rule_instances.h.
#include "generator/sides/rule_instances.h"

#include <algorithm>
#include <array>
#include <optional>

#include "rules/rule/constraints.h"
#include "rules/rule/typing.h"
#include "rules/sampling/sample_sizes.h"

namespace soapstone::generator {
namespace {

using rules::Rule;

constexpr std::size_t kDraws = 1000;
/// Strides, starts and the like are small: some conditions hold at small sizes alone.
constexpr std::array<std::int64_t, 6> kLargestSizes{97, 61, 31, 13, 5, 2};
constexpr std::int64_t kSmallest = 5;  // smaller ones meet strides, ranks and kernels by chance

/// How many sizes are large and unlike the others.
std::size_t different(const std::vector<core::Symbol>& symbols, const rules::Bindings& values) {
  std::vector<std::int64_t> sizes;
  for (core::Symbol s : symbols)
    if (values[s.id] && *values[s.id] >= kSmallest) sizes.push_back(*values[s.id]);
  std::ranges::sort(sizes);
  return static_cast<std::size_t>(std::unique(sizes.begin(), sizes.end()) - sizes.begin());
}

bool has_numbers(const core::Graph& side) {
  return std::ranges::all_of(side.inputs(), [&](core::TensorId id) {
    return core::concrete(side.tensor(id).type.shape).has_value();
  });
}

/// A rule without parameters.
std::optional<Sides> instance(const Rule& rule, rules::Random& random) {
  const rules::SizeSampler sampler(rule);
  const std::vector<core::Symbol> symbols = rules::size_symbols(rule.source);
  std::optional<Sides> best;
  std::size_t best_score = 0;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const rules::Bindings values = sampler.draw(random, kLargestSizes[draw % kLargestSizes.size()]);
    const std::size_t score = different(symbols, values);
    if ((best && score <= best_score) || !sampler.admits(values)) continue;
    auto typed = rules::type_sides(rule.source, rule.target, values);
    if (!typed || !has_numbers(typed->source)) continue;
    best = Sides{std::move(typed->source), std::move(typed->target)};
    best_score = score;
    if (score == symbols.size()) break;
  }
  return best;
}

}  // namespace

std::vector<Sides> rule_instances(const Rule& rule, std::size_t count, std::uint64_t seed) {
  rules::Random random(seed);
  std::vector<Sides> found;
  for (std::size_t k = 0; k < (rule.parameters.empty() ? 1 : count); ++k) {
    const auto parameters = rules::sample_parameters(rule, random.next());
    if (!parameters) continue;
    const auto special = rules::specialize(rule, *parameters);
    if (!special) continue;
    if (auto sides = instance(*special, random)) found.push_back(*std::move(sides));
  }
  return found;
}

}  // namespace soapstone::generator
