// Sizes of a graph as the rules say them that are made for it.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/graph/graph.h"
#include "rules/blocks/wide_operator.h"

namespace soapstone::rules {

/// `any_sizes`: equal sizes of the graph are equal sizes in the rule, whatever they are; otherwise
/// they are these very numbers.
class SizeTexts {
 public:
  using Texts = std::vector<std::string>;

  static std::string list(const Texts& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

  SizeTexts(const Graph& graph, bool any_sizes) : graph_(graph), any_sizes_(any_sizes) {}

  std::string size(const core::Polynomial& n) const {
    const std::int64_t value = n.constant();
    return value == 1 || !any_sizes_ ? std::to_string(value) : fmt::format("d{}", value);
  }
  std::string size(TensorId id, std::size_t axis) const {
    return size(graph_.tensor(id).type.shape[axis]);
  }
  Texts shape(TensorId id) const {
    Texts sizes;
    for (const core::Polynomial& n : graph_.tensor(id).type.shape) sizes.push_back(size(n));
    return sizes;
  }
  Texts along(const Row& row) const {
    Texts sizes;
    for (const TensorId id : row.tensors) sizes.push_back(size(id, row.axis));
    return sizes;
  }
  static std::string sum(const Texts& sizes) {
    return sizes.empty() ? "0" : fmt::format("{}", fmt::join(sizes, " + "));
  }
  /// `f32[…]` for elements of no floating type.
  std::string declared(TensorId id, const Texts& sizes) const {
    const core::DataType of = graph_.tensor(id).type.data_type;
    return fmt::format("{}[{}]", core::is_floating(of) ? "" : core::to_string(of), list(sizes));
  }
  /// Of all tensors of a row together.
  std::string declared_whole(const Row& row) const {
    Texts sizes = shape(row.tensors[0]);
    sizes[row.axis] = sum(along(row));
    return declared(row.tensors[0], sizes);
  }

 private:
  const Graph& graph_;
  bool any_sizes_;
};

}  // namespace soapstone::rules
