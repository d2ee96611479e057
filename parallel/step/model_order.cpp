#include "parallel/step/model_order.h"

#include <cstdint>
#include <numeric>

#include "core/base/hash.h"

namespace soapstone::parallel {
namespace {

/// Segments that are as one period before.
std::size_t repetitions(const std::vector<std::uint64_t>& segments, std::size_t period) {
  std::size_t count = 0;
  for (std::size_t k = period; k < segments.size(); ++k)
    if (segments[k] == segments[k - period]) ++count;
  return count;
}

/// The shortest period that explains almost as many segments as any.
std::size_t period_of(const std::vector<std::uint64_t>& segments) {
  constexpr std::size_t kLongest = 64;
  constexpr double kAlmost = 0.9;
  std::vector<std::size_t> explained(1, 0);
  std::size_t most = 0;
  for (std::size_t p = 1; p <= kLongest && 2 * p <= segments.size(); ++p) {
    const std::size_t repeated = repetitions(segments, p);
    explained.push_back(repeated == 0 ? 0 : repeated + p);  // with the first turn
    most = std::max(most, explained.back());
  }
  for (std::size_t p = 1; most > 0 && p < explained.size(); ++p)
    if (static_cast<double>(explained[p]) >= kAlmost * static_cast<double>(most)) return p;
  return 1;
}

/// By segment: whether one a period before or behind is the same.
std::vector<bool> in_turns(const std::vector<std::uint64_t>& segments, std::size_t period) {
  std::vector<bool> result(segments.size(), false);
  for (std::size_t k = period; k < segments.size(); ++k)
    if (segments[k] == segments[k - period]) result[k] = result[k - period] = true;
  return result;
}

/// Bytes behind each node.
std::vector<double> crossing_of(const ModelOrder& order, const StepWork& work) {
  std::vector<double> crossing(order.nodes.size() + 1, 0);
  for (const Lifetime& life : order.lifetimes) {
    if (life.is_input) continue;
    crossing[life.first] += work.tensors[life.tensor.index()].bytes;
    crossing[life.last] -= work.tensors[life.tensor.index()].bytes;
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  crossing.pop_back();
  return crossing;
}

std::vector<bool> narrow_places(const std::vector<double>& crossing) {
  std::vector<bool> is_narrow(crossing.size(), false);
  bool has_fallen = false;  // since it rose
  for (std::size_t k = 1; k + 1 < crossing.size(); ++k) {
    if (crossing[k] != crossing[k - 1]) has_fallen = crossing[k] < crossing[k - 1];
    is_narrow[k] = crossing[k] > 0 && has_fallen && crossing[k] < crossing[k + 1];
  }
  return is_narrow;
}

/// How many segments of the first block come before the first end: where the fewest bytes cross.
std::size_t best_phase(const std::vector<double>& crossing, const std::vector<bool>& repeats,
                       std::size_t period) {
  std::vector<double> bytes(period, 0);
  std::vector<int> count(period, 0);
  for (std::size_t s = 0, turn = 0; s < crossing.size(); ++s) {
    turn = repeats[s] ? turn + 1 : 0;
    if (turn == 0) continue;
    bytes[turn % period] += crossing[s];
    ++count[turn % period];
  }
  std::size_t best = 0;
  for (std::size_t phase = 1; phase < period; ++phase)
    if (bytes[phase] * count[best] < bytes[best] * count[phase]) best = phase;
  return best;
}

std::vector<bool> block_ends(const core::Graph& graph, const ModelOrder& order,
                             const std::vector<double>& crossing) {
  std::vector<std::uint64_t> segments(1, 0);
  std::vector<std::size_t> ends;
  std::vector<double> bytes;
  for (std::size_t k = 0; k < order.nodes.size(); ++k) {
    segments.back() = core::hash_combine(segments.back(), graph.node(order.nodes[k]).local_hash);
    if (!order.is_narrow[k]) continue;
    ends.push_back(k);
    bytes.push_back(crossing[k]);
    segments.push_back(0);
  }
  const std::size_t period = period_of(segments);
  const std::vector<bool> repeats = in_turns(segments, period);
  const std::size_t phase = best_phase(bytes, repeats, period);
  std::vector<bool> blocks(order.nodes.size(), false);
  for (std::size_t s = 0, turn = 0; s < ends.size(); ++s) {
    turn = repeats[s] ? turn + 1 : 0;
    blocks[ends[s]] = turn % period == phase || !repeats[s] || !repeats[s + 1];
  }
  return blocks;
}

}  // namespace

ModelOrder model_order(const core::Graph& graph, const StepWork& work) {
  ModelOrder order;
  order.positions.resize(graph.node_bound());
  for (const core::NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    order.positions[id.index()] = order.nodes.size();
    order.nodes.push_back(id);
  }
  std::vector<bool> is_weight;
  for (const TensorWork& tensor : work.tensors) is_weight.push_back(tensor.is_weight);
  order.lifetimes = lifetimes(graph, order.nodes, is_weight);
  order.crossing_bytes = crossing_of(order, work);
  order.is_narrow = narrow_places(order.crossing_bytes);
  order.ends_block = block_ends(graph, order, order.crossing_bytes);
  return order;
}

std::vector<bool> crossing(const core::Graph& graph, const ModelOrder& order,
                           const std::vector<bool>& places) {
  // Places up to each position, so that a lifetime has one if two of these differ.
  std::vector<std::size_t> count(order.nodes.size() + 1, 0);
  for (std::size_t k = 0; k < order.nodes.size(); ++k)
    count[k + 1] = count[k] + (places[k] ? 1 : 0);
  std::vector<bool> result(graph.tensor_bound(), false);
  for (const Lifetime& life : order.lifetimes)
    if (!life.is_input) result[life.tensor.index()] = count[life.first] < count[life.last];
  return result;
}

}  // namespace soapstone::parallel
