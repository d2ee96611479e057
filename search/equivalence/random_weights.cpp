// See random_weights.h. Numbers are scaled down by their count, so that activations stay finite
// through many layers.
#include "search/equivalence/random_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "ops/definition/by_role.h"

namespace soapstone::search {
namespace {

/// Random values that depend on the number of elements, not on the shape: a rewrite may have
/// changed the shape.
core::LiteralPtr random_weight(const core::Dims& dims, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(core::element_count(dims));
  const bool vector = std::ranges::count_if(dims, [](std::int64_t n) { return n > 1; }) <= 1;
  // Keeps results near 1, assuming that a sum has about √count terms.
  const auto scale = static_cast<float>(std::pow(static_cast<double>(count), -0.25));
  std::mt19937_64 random(core::hash_combine(seed, count));
  // Within [0, 1), the same with every standard library.
  const auto uniform = [&] { return static_cast<float>(random() >> 40) * 0x1p-24F; };
  std::vector<float> values(count);
  // A vector may be a variance, so it is positive.
  for (float& value : values) {
    value = vector ? 0.5F + uniform() : scale * (3.4F * uniform() - 1.7F);
  }
  return std::make_shared<const core::Literal>(core::Literal::floats(dims, values));
}

/// Value and count: what is left of a weight however it is shaped.
using Weight = std::pair<double, std::int64_t>;

std::optional<Weight> weight_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  if (!ops::stands_for_weights(graph, node)) return std::nullopt;
  const core::Shape& shape = graph.tensor(node.outputs[0]).type.shape;
  return Weight{ops::fill_value(node), core::element_count(*core::concrete(shape))};
}

core::Graph randomized(const core::Graph& graph, const std::set<Weight>& weights,
                       std::uint64_t seed) {
  core::GraphBuilder builder(graph);
  for (const core::NodeId id : graph.order()) {
    const auto weight = weight_of(graph, id);
    if (!weight || !weights.contains(*weight)) continue;
    const core::TensorId result = graph.node(id).outputs[0];
    const auto key = core::hash_combine(seed, std::bit_cast<std::uint64_t>(weight->first));
    const auto dims = core::concrete(graph.tensor(result).type.shape);
    builder.replace_uses(result, builder.add_constant(random_weight(*dims, key)));
  }
  auto finished = std::move(builder).finish();
  CHECK(finished.ok(), "a constant cannot close a cycle");
  return *std::move(finished);
}

}  // namespace

RandomizedPair randomize_weights(const core::Graph& original, const core::Graph& rewritten,
                                 std::uint64_t seed) {
  std::set<Weight> weights;
  for (const core::NodeId id : original.order())
    if (const auto weight = weight_of(original, id)) weights.insert(*weight);
  return {randomized(original, weights, seed), randomized(rewritten, weights, seed)};
}

}  // namespace soapstone::search
