// See rule_source.h.
#include "tests/fuzz/models/rule_source.h"

#include <utility>

#include <fmt/format.h>

#include "rules/rule/typing.h"
#include "rules/sampling/sample.h"
#include "rules/sampling/sample_sizes.h"

namespace soapstone {
namespace {

constexpr std::int64_t kMostElements = 2048;
constexpr int kAttempts = 60;

bool is_small(const core::Graph& graph) {
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    if (!graph.contains(core::TensorId(k))) continue;
    const auto dims = core::concrete(graph.tensor(core::TensorId(k)).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    if (!count || *count > kMostElements) return false;
  }
  return true;
}

}  // namespace

core::Result<RuleSource> draw_rule_source(const rules::Rule& rule, std::uint64_t seed) {
  rules::Rule special = rule;
  if (!rule.parameters.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const rules::Bindings values, rules::sample_parameters(rule, seed));
    SOAPSTONE_ASSIGN_OR_RETURN(special, rules::specialize(rule, values));
  }
  const rules::SizeSampler sampler(special);
  rules::Random random(seed);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const rules::Bindings sizes = sampler.draw(random, 1 + attempt % 5);
    if (!sampler.admits(sizes)) continue;
    auto typed = rules::type_sides(special.source, special.target, sizes);
    if (!typed || !is_small(typed->source)) continue;
    return RuleSource{std::move(typed->source), special.constant_inputs};
  }
  return core::unsupported(fmt::format("{}: no small sizes were found", rule.name));
}

}  // namespace soapstone
