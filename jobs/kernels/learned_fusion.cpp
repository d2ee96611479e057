// See learned_fusion.h.
#include "jobs/kernels/learned_fusion.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/hash.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::hash_combine;
using core::NodeId;
using core::TensorId;

/// Larger patterns are whole models in one kernel; they never occur again.
constexpr std::size_t kMostNodes = 64;

}  // namespace

std::uint64_t LearnedFusions::learn(const Graph& graph, std::span<const NodeId> nodes,
                                    const IsExported& is_exported) {
  CHECK(!nodes.empty(), "a kernel of no nodes");
  EncodedKernel encoded = encode_kernel_nodes(graph, nodes, is_exported);
  CHECK(encoded.has_all, "nodes of a kernel that do not lead to the last one");
  if (nodes.size() > 1 && nodes.size() <= kMostNodes) add(std::move(encoded.code));
  return encoded.signature;
}

bool LearnedFusions::add(PatternCode code) {
  std::vector<PatternCode>& list = patterns_[code.front()];
  if (std::ranges::find(list, code) != list.end()) return false;
  const auto place = std::ranges::find_if(
      list, [&](const PatternCode& other) { return other.size() < code.size(); });
  list.insert(place, std::move(code));
  ++count_;
  return true;
}

std::vector<KernelNodes> LearnedFusions::cover(const Graph& graph) const {
  std::vector<bool> taken(graph.node_bound());
  std::vector<std::size_t> place(graph.node_bound());
  for (std::size_t i = 0; i < graph.order().size(); ++i) place[graph.order()[i].index()] = i;
  std::vector<KernelNodes> kernels;
  for (std::size_t i = graph.order().size(); i-- > 0;) {
    const NodeId last = graph.order()[i];
    if (taken[last.index()] || graph.is_constant_expression(last)) continue;
    std::vector<NodeId> nodes{last};
    if (const auto known = patterns_.find(kind_of(graph, last)); known != patterns_.end()) {
      for (const PatternCode& code : known->second) {
        if (auto found = match_pattern(graph, code, taken, last)) {
          nodes = *std::move(found);
          break;
        }
      }
    }
    std::ranges::sort(nodes, {}, [&](NodeId id) { return place[id.index()]; });
    for (const NodeId id : nodes) taken[id.index()] = true;
    const std::uint64_t signature = encode_kernel_nodes(graph, nodes, {}).signature;
    kernels.push_back({std::move(nodes), signature});
  }
  std::ranges::reverse(kernels);
  return kernels;
}

std::vector<std::uint64_t> LearnedFusions::edges(const Graph& graph) {
  std::vector<std::uint64_t> kinds(graph.node_bound()), edges;
  for (const NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    kinds[id.index()] = kind_of(graph, id);
    std::uint64_t fixed = 0;
    for (const TensorId input : graph.node(id).inputs)
      fixed = 2 * fixed + (input.valid() && graph.is_constant_expression(input) ? 1 : 0);
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid() || graph.is_constant_expression(input)) continue;
      const NodeId producer = graph.tensor(input).producer;
      if (!producer.valid()) continue;
      const bool is_only = graph.consumers(input).size() == 1 && !graph.is_output(input);
      std::uint64_t hash = hash_combine(kinds[producer.index()], kinds[id.index()]);
      hash = hash_combine(hash, 2 * fixed + (is_only ? 1 : 0));
      edges.push_back(hash);
    }
  }
  return edges;
}

std::string LearnedFusions::to_text() const {
  std::vector<const PatternCode*> all;
  for (const auto& [kind, list] : patterns_)
    for (const PatternCode& code : list) all.push_back(&code);
  std::ranges::sort(all, [](const PatternCode* a, const PatternCode* b) { return *a < *b; });
  std::string text;
  for (const PatternCode* code : all) text += fmt::format("{:x}\n", fmt::join(*code, " "));
  return text;
}

bool LearnedFusions::add_text(std::string_view text) {
  std::vector<PatternCode> codes;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    PatternCode code;
    for (const char *at = line.data(), *end = at + line.size(); at < end;) {
      const auto [next, error] = std::from_chars(at, end, code.emplace_back(), 16);
      if (error != std::errc() || (next < end && *next != ' ')) return false;
      at = next + 1;
    }
    if (!is_pattern(code)) return false;
    codes.push_back(std::move(code));
  }
  for (PatternCode& code : codes) add(std::move(code));
  return true;
}

}  // namespace soapstone::jobs
