// See term_hash.h.
#include "generator/term_hash.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "core/hash.h"

namespace soapstone::generator {
namespace {

using core::Graph;
using core::hash_combine;
using core::TensorId;

constexpr std::uint64_t kLeftOut = 0x6c65667420;

/// A hash for each tensor. `input(k)` is what input k counts as.
template <class Input>
std::vector<std::uint64_t> tensor_hashes(const Graph& graph, Input input) {
  std::vector<std::uint64_t> hashes(graph.tensor_bound());
  for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
    const TensorId id = graph.inputs()[k];
    hashes[id.index()] = hash_combine(graph.tensor(id).local_hash, input(k));
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

std::uint64_t outputs_hash(const Graph& graph, const std::vector<std::uint64_t>& hashes) {
  std::uint64_t hash = graph.outputs().size();
  for (TensorId id : graph.outputs()) hash = hash_combine(hash, hashes[id.index()]);
  return hash;
}

/// Numbers the inputs in the order in which a walk from the outputs meets them. Operands of
/// commutative operators are visited by what they are, names of inputs aside.
class Numbering {
 public:
  explicit Numbering(std::size_t inputs) : numbers_(inputs, kNone) {}

  void visit(const Graph& graph) {
    const auto shapes = tensor_hashes(graph, [](std::size_t) { return std::uint64_t{0}; });
    for (TensorId id : graph.outputs()) visit(graph, shapes, id);
  }
  void finish() {
    for (std::uint64_t& number : numbers_)
      if (number == kNone) number = next_++;
  }
  std::uint64_t operator()(std::size_t input) const { return numbers_[input]; }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void visit(const Graph& graph, const std::vector<std::uint64_t>& shapes, TensorId id) {
    if (!id.valid()) return;
    const auto input = std::ranges::find(graph.inputs(), id);
    if (input != graph.inputs().end()) {
      auto& number = numbers_[static_cast<std::size_t>(input - graph.inputs().begin())];
      if (number == kNone) number = next_++;
      return;
    }
    if (!graph.tensor(id).producer.valid()) return;
    const core::Node& node = graph.node(graph.tensor(id).producer);
    std::vector<TensorId> operands = node.inputs;
    if (node.op->commutative && operands.size() >= 2 &&
        shapes[operands[1].index()] < shapes[operands[0].index()])
      std::swap(operands[0], operands[1]);
    for (TensorId operand : operands) visit(graph, shapes, operand);
  }

  std::vector<std::uint64_t> numbers_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::vector<std::uint64_t> term_hashes(const Graph& graph) {
  return tensor_hashes(graph, [](std::size_t k) { return k + 1; });
}

std::uint64_t term_hash(const Graph& graph) { return outputs_hash(graph, term_hashes(graph)); }

std::uint64_t pair_hash(const Graph& source, const Graph& target) {
  Numbering numbers(source.inputs().size());
  numbers.visit(source);
  numbers.visit(target);
  numbers.finish();
  const auto left = outputs_hash(source, tensor_hashes(source, numbers));
  const auto right = outputs_hash(target, tensor_hashes(target, numbers));
  return hash_combine(left, right);
}

Graph with_shared_nodes(Graph graph) {
  const auto hashes = term_hashes(graph);
  std::unordered_map<std::uint64_t, core::NodeId> first;
  std::vector<std::pair<core::NodeId, core::NodeId>> twins;
  for (core::NodeId id : graph.order()) {
    const auto [known, is_new] = first.emplace(hashes[graph.node(id).outputs[0].index()], id);
    if (!is_new) twins.emplace_back(id, known->second);
  }
  if (twins.empty()) return graph;
  core::GraphBuilder builder(graph);
  for (const auto& [twin, kept] : twins)
    for (std::size_t k = 0; k < graph.node(twin).outputs.size(); ++k)
      builder.replace_uses(graph.node(twin).outputs[k], graph.node(kept).outputs[k]);
  auto shared = std::move(builder).finish();
  return shared ? *std::move(shared) : graph;
}

}  // namespace soapstone::generator
