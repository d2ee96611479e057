#include "rules/matching/sibling_numbers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace soapstone::rules {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostNumbers = 10;
constexpr std::size_t kMostSiblings = 64;

class Counter {
 public:
  explicit Counter(const Graph& graph) : graph_(graph) {}

  std::set<int> run() {
    for (const TensorId input : graph_.inputs()) count_readers(input);
    for (const NodeId id : graph_.order()) {
      const core::Node& node = graph_.node(id);
      count(node.inputs.size());
      count(node.outputs.size());
      for (const TensorId output : node.outputs) count_readers(output);
      if (node.op->commutative && !continues_chain(id)) count(terms(id));
    }
    std::vector<std::pair<int, int>> by_frequency;
    for (const auto& [number, times] : times_) by_frequency.emplace_back(-times, number);
    std::ranges::sort(by_frequency);
    std::set<int> numbers{2, 3, 4};
    for (const auto& [times, number] : by_frequency)
      if (numbers.size() < kMostNumbers) numbers.insert(number);
    return numbers;
  }

 private:
  void count(std::size_t siblings) {
    if (siblings >= 2 && siblings <= kMostSiblings) ++times_[static_cast<int>(siblings)];
  }

  void count_readers(TensorId id) {
    std::map<const core::OpSchema*, std::set<NodeId>> readers;
    for (const NodeId reader : graph_.consumers(id)) readers[graph_.node(reader).op].insert(reader);
    for (const auto& [op, nodes] : readers) count(nodes.size());
  }

  /// The node of the same operator that alone reads this node's result, if there is one.
  bool continues_chain(NodeId id) const {
    const core::Node& node = graph_.node(id);
    const auto& readers = graph_.consumers(node.outputs[0]);
    return readers.size() == 1 && graph_.node(readers[0]).op == node.op;
  }

  /// Operands of a chain of one operator that ends in this node.
  std::size_t terms(NodeId last) const {
    std::size_t terms = 1;
    std::vector<NodeId> pending{last};
    while (!pending.empty()) {
      const core::Node& node = graph_.node(pending.back());
      pending.pop_back();
      ++terms;
      for (const TensorId input : node.inputs) {
        if (!input.valid()) continue;
        const NodeId producer = graph_.tensor(input).producer;
        if (producer.valid() && graph_.node(producer).op == node.op && continues_chain(producer))
          pending.push_back(producer);
      }
    }
    return terms;
  }

  const Graph& graph_;
  std::map<int, int> times_;  // by number of siblings
};

}  // namespace

std::set<int> sibling_numbers(const Graph& graph) { return Counter(graph).run(); }

}  // namespace soapstone::rules
