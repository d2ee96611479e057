// One side of a rule as text: lines that stand once each, and views of what they give.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/base/source_text.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

std::string list_of(const Sizes& sizes);
Names names_of(const Sizes& sizes);
/// How the rule declares a tensor with the elements of that one.
std::string declared(const core::TensorType& type, const Names& shape);
/// Declares all operands of the node but the first in the head of a rule: their names.
Names declared_weights(const core::Graph& graph, const core::Node& node, std::string& head);

/// The view as one of the tensor with a dimension for each factor, if SideText::viewed comes by
/// that: proofs about it have no digits of indices. Else the view itself.
View from_factors(const View& view);

/// One side of a rule. A node stands once, however often it is asked for.
class SideText {
 public:
  /// The result of that call.
  std::string line(const std::string& call) { return lines(call, 1).front(); }
  Names lines(const std::string& call, std::size_t results);
  bool has(const std::string& call) const;
  /// The results of one more node with that call.
  Names another(const std::string& call, std::size_t results);
  std::string reshaped(const std::string& from, const Names& shape, const Names& to);
  std::string transposed(const std::string& from, const std::vector<std::size_t>& order);
  std::string expanded(const std::string& from, const Names& shape);
  /// One behind the other along that axis.
  std::string joined(const Names& parts, std::size_t axis);
  Names split(const std::string& from, std::size_t axis, const Names& sizes);
  /// The tensor as a view of that one. Precondition: all of it is seen.
  std::string viewed(const std::string& from, const View& view);
  /// The same with each factor by itself, though nothing parts some.
  std::string viewed_apart(const std::string& from, const View& view);

  /// Results have names of their own, nodes names that begin with that letter.
  std::string text(const Names& results, char prefix) const;
  bool operator==(const SideText&) const = default;

 private:
  struct Line {
    Names names;
    std::string call;
    bool operator==(const Line&) const = default;
  };
  std::vector<Line> lines_;
};

/// `results` by side.
std::string rule_text(std::string_view name, const std::string& head, const SideText& source,
                      const Names& source_results, const SideText& target,
                      const Names& target_results);

}  // namespace soapstone::transforms
