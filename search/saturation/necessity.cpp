// See necessity.h. Sets begin with all classes and lose what some graph does without.
#include "search/saturation/necessity.h"

#include <algorithm>

namespace soapstone::search {

using rules::ClassId;
using rules::EGraph;
using rules::ENodeId;

Necessity::Necessity(const EGraph& graph)
    : graph_(graph), words_((graph.class_bound() + kBits - 1) / kBits),
      bits_(graph.class_bound() * words_, ~std::uint64_t{0}) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < graph.class_bound(); ++k)
      if (graph.find(ClassId(k)) == ClassId(k)) changed = narrow(ClassId(k)) || changed;
  }
}

bool Necessity::is_circular(ENodeId node, ClassId id) const {
  return std::ranges::any_of(graph_.operands(node), [&](ClassId operand) {
    return operand.valid() && is_needed(graph_.find(operand), id);
  });
}

/// Needed is what all e-nodes of the class need, and the class itself.
bool Necessity::narrow(ClassId id) {
  std::vector<std::uint64_t> common(words_, ~std::uint64_t{0}), of_node;
  for (const ENodeId node : graph_[id].nodes) {
    if (is_circular(node, id)) continue;
    of_node.assign(words_, 0);
    for (const ClassId operand : graph_.operands(node)) {
      if (!operand.valid()) continue;
      const auto more = needed(graph_.find(operand).index());
      for (std::size_t w = 0; w < words_; ++w) of_node[w] |= more[w];
    }
    for (std::size_t w = 0; w < words_; ++w) common[w] &= of_node[w];
  }
  common[id.index() / kBits] |= std::uint64_t{1} << (id.index() % kBits);
  const auto now = needed(id.index());
  bool changed = false;
  for (std::size_t w = 0; w < words_; ++w) {
    changed = changed || (now[w] & ~common[w]) != 0;
    now[w] &= common[w];
  }
  return changed;
}

}  // namespace soapstone::search
