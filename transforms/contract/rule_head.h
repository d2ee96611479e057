// What a rule about a part of a graph says before its target: the tensors that the part reads, and
// its nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/contract/contraction_tree.h"
#include "transforms/contract/product_order.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {

class RuleHead {
 public:
  explicit RuleHead(const core::Graph& graph) : graph_(graph) {}

  void declare(core::TensorId id);
  /// Of what was declared.
  const std::string& name(core::TensorId id) const { return names_.at(id); }
  /// The node computes its result on both sides.
  void keep(const core::Node& node) { kept_[node.outputs[0]] = &node; }
  /// Of the result of the last of these nodes, which stand in the order of the graph. What they
  /// read is declared or computed by one of them.
  std::string written(const std::vector<core::NodeId>& nodes, SideText& source) const;
  /// A tensor without its dimensions of size 1.
  IndexedName indexed(const ContractionLeaf& leaf, const Sizes& sizes, SideText& target) const;
  const std::string& text() const { return text_; }

 private:
  std::string name_of(core::TensorId id, SideText& target) const;

  const core::Graph& graph_;
  std::map<core::TensorId, std::string> names_;
  std::map<core::TensorId, const core::Node*> kept_;
  std::string text_;
};

}  // namespace soapstone::transforms
