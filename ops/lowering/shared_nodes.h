// Appends nodes to a graph so that no two compute the same: one that is there already is used
// again.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::ops {

/// After the first error nothing more is appended; results are none() then.
class SharedNodes {
 public:
  /// Borrows the builder. Nodes of `graph`, from which the builder was made, are used again.
  SharedNodes(core::GraphBuilder& builder, const core::Graph& graph);

  /// The only result of the operator. Operators with several are not shared.
  core::TensorId append(std::string_view op, std::vector<core::TensorId> inputs,
                        const core::Attributes& attributes = {});
  core::TensorId constant(core::Literal value);

  const core::Tensor& tensor(core::TensorId id) const { return builder_.tensor(id); }
  /// The sizes of a tensor. Precondition: they are numbers.
  core::Dims dims(core::TensorId id) const;
  const std::optional<core::Error>& error() const { return error_; }
  void fail(core::Error error);

 private:
  std::uint64_t key_of(const core::OpSchema& op, const std::vector<core::TensorId>& inputs,
                       const core::Attributes& attributes) const;

  core::GraphBuilder& builder_;
  std::unordered_multimap<std::uint64_t, core::NodeId> nodes_;
  std::unordered_multimap<std::uint64_t, core::TensorId> constants_;
  std::optional<core::Error> error_;
};

}  // namespace soapstone::ops
