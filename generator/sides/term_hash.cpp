// See term_hash.h.
#include "generator/sides/term_hash.h"

#include <utility>

#include "core/base/hash.h"

namespace soapstone::generator {

using core::hash_combine;
using core::TensorId;

std::vector<std::uint64_t> term_hashes(const core::Graph& graph) {
  constexpr std::uint64_t kLeftOut = 0x6c65667420;
  std::vector<std::uint64_t> hashes(graph.tensor_bound());
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    const TensorId id = graph.inputs()[k];
    hashes[id.index()] = hash_combine(graph.tensor(id).local_hash, k + 1);
  }
  const auto hash_of = [&](TensorId id) {
    if (!id.valid()) return kLeftOut;
    const core::Tensor& tensor = graph.tensor(id);
    return tensor.value ? tensor.local_hash : hashes[id.index()];
  };
  std::vector<std::uint64_t> operands;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    operands.clear();
    for (TensorId operand : node.inputs) operands.push_back(hash_of(operand));
    if (node.op->commutative && operands.size() >= 2 && operands[1] < operands[0])
      std::swap(operands[0], operands[1]);
    std::uint64_t hash = node.local_hash;
    for (std::uint64_t operand : operands) hash = hash_combine(hash, operand);
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      hashes[node.outputs[k].index()] = hash_combine(hash, k);
  }
  return hashes;
}

}  // namespace soapstone::generator
