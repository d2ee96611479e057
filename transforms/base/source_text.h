// Parts of a graph as the text of rules that are made for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

using Texts = std::vector<std::string>;

/// `a, b, c`
std::string list_of(const Texts& texts);

/// The call of the node's operator with its own attributes, but for the shape of the result, or the
/// sizes of its parts, if they are given.
/// Operands `_` at the end are left out.
std::string call_of(const core::Graph& graph, const core::Node& node, const Texts& operands,
                    const std::optional<Texts>& shape = {});

/// Sizes of a graph's tensors as a rule says them. `any_sizes`: equal sizes of the graph are equal
/// sizes in the rule, whatever they are; otherwise they are these very numbers.
class SizeTexts {
 public:
  using Tensors = std::vector<core::TensorId>;

  SizeTexts(const core::Graph& graph, bool any_sizes) : graph_(&graph), any_sizes_(any_sizes) {}

  std::string size(std::int64_t n) const;
  std::string size(core::TensorId id, std::size_t axis) const;
  Texts shape(core::TensorId id) const;
  /// By tensor.
  Texts along(const Tensors& tensors, std::size_t axis) const;
  /// `a + b`; 0 of none.
  static std::string sum(const Texts& sizes);
  /// `[…]`, with the type of elements that are no floating ones.
  std::string declared(core::TensorId id, const Texts& sizes) const;
  std::string declared(core::TensorId id) const { return declared(id, shape(id)); }
  /// Of all tensors together, side by side.
  std::string declared_whole(const Tensors& tensors, std::size_t axis) const;

 private:
  const core::Graph* graph_;
  bool any_sizes_;
};

/// The source of a rule that is a part of a graph, as it stands there.
class SourceText {
 public:
  SourceText(const core::Graph& graph, const SizeTexts& sizes) : graph_(&graph), sizes_(sizes) {}

  static std::string name(core::TensorId id);
  static std::string names(const std::vector<core::TensorId>& tensors);

  void add(core::NodeId id) { nodes_.insert(id); }
  /// Declares what the nodes read and do not compute.
  std::string head() const;
  /// The nodes, with the names of the graph's tensors.
  std::string lines() const;

 private:
  const core::Graph* graph_;
  SizeTexts sizes_;
  std::set<core::NodeId> nodes_;
};

/// The rule that puts these lines in the place of the source. Its name begins with that.
std::string rule_for(const std::string& name, const SourceText& source, const Texts& target);

}  // namespace soapstone::transforms
