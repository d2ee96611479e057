#include "transforms/broadcasts/common_nodes.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostCommonPlans = 400;
/// Nodes that become one in one step.
constexpr std::size_t kMostEqual = 32;

constexpr std::string_view kCommonDescription = "What is computed twice is computed once.";

class CommonNodes {
 public:
  explicit CommonNodes(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    std::map<std::string, std::vector<NodeId>> equal;
    std::vector<std::string> order;  // of what stands there more than once
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.op->is_opaque() || !has_known_sizes(graph_, node)) continue;
      Names operands;
      for (const TensorId input : node.inputs) operands.push_back(name_of(input));
      const std::string call = call_of(graph_, node, operands);
      auto& nodes = equal[call];
      nodes.push_back(id);
      if (nodes.size() == 2) order.push_back(call);
      for (std::size_t o = 0; nodes.size() > 1 && o < node.outputs.size(); ++o)
        same_as_[node.outputs[o]] = graph_.node(nodes.front()).outputs[o];
    }
    std::vector<RewriteSequence> plans;
    for (const std::string& call : order)
      if (plans.size() < kMostCommonPlans && equal[call].size() <= kMostEqual)
        plans.push_back({{step(equal[call])}});
    return plans;
  }

 private:
  /// The first of equal tensors.
  TensorId first(TensorId id) const {
    const auto known = same_as_.find(id);
    return known != same_as_.end() ? known->second : id;
  }
  std::string name_of(TensorId id) const {
    return id.valid() ? fmt::format("x{}", first(id).index()) : "_";
  }

  RewriteStep step(const std::vector<NodeId>& nodes) const {
    const Node& node = graph_.node(nodes[0]);
    SideText source, target;
    std::string head;
    std::map<TensorId, std::string> names;
    Names operands;
    for (const TensorId input : node.inputs) {
      const auto [known, is_new] =
          names.emplace(first(input), input.valid() ? fmt::format("a{}", names.size()) : "_");
      operands.push_back(known->second);
      if (!is_new || !input.valid()) continue;
      const core::TensorType& type = graph_.tensor(input).type;
      head += fmt::format("  {}: {}\n", known->second,
                          declared(type, names_of(known_sizes(type.shape))));
    }
    const std::string call = call_of(graph_, node, operands);
    const Names once = target.lines(call, node.outputs.size());
    RewriteStep step{.results = {}, .texts = {}, .description = kCommonDescription};
    Names from, to;
    for (const NodeId id : nodes) {
      for (const std::string& name : source.another(call, node.outputs.size()))
        from.push_back(name);
      to.insert(to.end(), once.begin(), once.end());
      const auto& outputs = graph_.node(id).outputs;
      step.results.insert(step.results.end(), outputs.begin(), outputs.end());
    }
    step.texts.push_back(rule_text(fmt::format("{}{}", kCommonPrefix, node.op->name), head, source,
                                   from, target, to));
    return step;
  }

  const Graph& graph_;
  std::map<TensorId, TensorId> same_as_;
};

}  // namespace

std::vector<RewriteSequence> find_common_nodes(const Graph& graph) {
  return CommonNodes(graph).run();
}

}  // namespace soapstone::transforms
