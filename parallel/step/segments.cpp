#include "parallel/step/segments.h"

#include <cstdint>

#include "core/base/hash.h"
#include "parallel/step/lifetimes.h"

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

std::vector<bool> weights_of(const StepWork& work) {
  std::vector<bool> is_weight;
  for (const TensorWork& tensor : work.tensors) is_weight.push_back(tensor.is_weight);
  return is_weight;
}

std::vector<double> crossing_of(const std::vector<Lifetime>& lives, std::size_t nodes,
                                const StepWork& work) {
  std::vector<double> crossing(nodes, 0);
  for (const Lifetime& life : lives)
    for (std::size_t k = life.first; !life.is_input && k < life.last; ++k)
      crossing[k] += work.tensors[life.tensor.index()].bytes;
  return crossing;
}

std::vector<bool> narrow(const std::vector<double>& crossing) {
  std::vector<bool> is_narrow(crossing.size(), false);
  bool has_fallen = false;  // since it rose
  for (std::size_t k = 1; k + 1 < crossing.size(); ++k) {
    if (crossing[k] != crossing[k - 1]) has_fallen = crossing[k] < crossing[k - 1];
    is_narrow[k] = crossing[k] > 0 && has_fallen && crossing[k] < crossing[k + 1];
  }
  return is_narrow;
}

}  // namespace

std::vector<bool> narrow_places(const core::Graph& graph, const std::vector<core::NodeId>& order,
                                const StepWork& work) {
  return narrow(crossing_of(lifetimes(graph, order, weights_of(work)), order.size(), work));
}

std::vector<bool> crossing_narrowly(const core::Graph& graph,
                                    const std::vector<core::NodeId>& order, const StepWork& work) {
  const std::vector<Lifetime> lives = lifetimes(graph, order, weights_of(work));
  const std::vector<bool> is_narrow = narrow(crossing_of(lives, order.size(), work));
  std::vector<bool> result(graph.tensor_bound(), false);
  for (const Lifetime& life : lives)
    for (std::size_t k = life.first; !life.is_input && k < life.last; ++k)
      if (is_narrow[k]) result[life.tensor.index()] = true;
  return result;
}

std::vector<bool> block_ends(const core::Graph& graph, const std::vector<core::NodeId>& order,
                             const std::vector<bool>& narrow) {
  std::vector<std::uint64_t> segments(1, 0);
  std::vector<std::size_t> ends;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const core::Node& node = graph.node(order[k]);
    std::uint64_t& hash = segments.back();
    hash = core::hash_combine(hash, node.local_hash);
    if (!narrow[k]) continue;
    ends.push_back(k);
    segments.push_back(0);
  }
  const std::size_t period = period_of(segments);
  const std::vector<bool> repeats = in_turns(segments, period);
  std::vector<bool> blocks(order.size(), false);
  std::size_t segments_of_block = 0;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    const bool is_whole = ++segments_of_block == period || !repeats[s] || !repeats[s + 1];
    if (!is_whole) continue;
    blocks[ends[s]] = true;
    segments_of_block = 0;
  }
  return blocks;
}

}  // namespace soapstone::parallel
