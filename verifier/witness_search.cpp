// See witness_search.h. Sizes are drawn until the guard holds, without solving its equations.
#include "verifier/witness_search.h"

#include <algorithm>

#include "rules/constraints.h"
#include "rules/float_behavior.h"
#include "rules/sample.h"

namespace soapstone::verifier {
namespace {

constexpr int kAttemptsPerSize = 40;
constexpr std::int64_t kSmallest = 4, kLargest = 11;
constexpr std::int64_t kMostElements = 1 << 13;

bool fits(const core::Graph& side) {
  const auto fits_tensor = [&](core::TensorId id) {
    const auto dims = core::concrete(side.tensor(id).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    return count && *count <= kMostElements;
  };
  return std::ranges::all_of(side.inputs(), fits_tensor) &&
         std::ranges::all_of(side.order(), [&](core::NodeId id) {
           return std::ranges::all_of(side.node(id).outputs, fits_tensor);
         });
}

bool differs_at_larger_sizes(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  const rules::Sampler sampler(rule);
  rules::Random random(seed);
  int tried = 0;
  for (int attempt = 0; attempt < kAttemptsPerSize * size_count && tried < size_count; ++attempt) {
    const auto values = sampler.all(random, kSmallest + attempt % (kLargest - kSmallest + 1));
    std::vector<std::int64_t> sizes(rule.source.symbols().size());
    for (std::size_t s = 0; s < values.size(); ++s) sizes[s] = values[s].value_or(0);
    if (!rules::guard_holds(rule, sizes)) continue;
    const auto sides = rules::specialize(rule, values);
    if (!sides || !fits(sides->source) || !fits(sides->target)) continue;
    ++tried;
    if (rules::observe_floats(*sides, random.next()).difference) return true;
  }
  return false;
}

}  // namespace

bool has_witness(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  // A guard that hardly any sizes satisfy would cost thousands of draws for each of them.
  constexpr int kFirstLook = 2;
  const auto first = rules::check(rule, kFirstLook, seed);
  if (!first) return false;
  if (first->counterexample) return true;
  const auto report = rules::check(rule, size_count, seed + 1);
  if (report && report->counterexample) return true;
  return differs_at_larger_sizes(rule, size_count, seed);
}

}  // namespace soapstone::verifier
