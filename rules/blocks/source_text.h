// The source of a rule that is a part of a graph, as it stands there.
#pragma once

#include <set>
#include <string>

#include "core/graph/graph.h"
#include "rules/blocks/size_texts.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

/// `OPERATOR(OPERANDS; ATTRIBUTES)`, with the attributes of the node.
std::string call_of_node(const core::Graph& graph, const core::Node& node,
                         const SizeTexts::Texts& operands);

class SourceText {
 public:
  SourceText(const core::Graph& graph, const SizeTexts& sizes) : graph_(graph), sizes_(sizes) {}

  static std::string name(TensorId id) { return fmt::format("t{}", id.value); }
  template <class Tensors>
  static std::string names(const Tensors& tensors) {
    SizeTexts::Texts all;
    for (const TensorId id : tensors) all.push_back(name(id));
    return SizeTexts::list(all);
  }

  void add(NodeId id) { nodes_.insert(id); }
  /// Declares what the nodes read and do not compute.
  std::string head() const;
  /// The nodes, with the names of the graph's tensors.
  std::string lines() const;

 private:
  const core::Graph& graph_;
  SizeTexts sizes_;
  std::set<NodeId> nodes_;
};

}  // namespace soapstone::rules
