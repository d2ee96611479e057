// The sizes of tensors that are joined but not of one size, as numbers and as a rule names them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {

/// Which dimensions of a tensor are one in the join: how many stand in front of them, and how many
/// they are.
struct JoinForm {
  std::size_t before = 0, count = 1;
  auto operator<=>(const JoinForm&) const = default;
};

/// A form, and by tensor the names of those dimensions in a rule: whatever sizes they have.
struct JoinPlaces {
  JoinForm form;
  std::vector<Names> sizes;

  /// The number of elements along those dimensions: `g0_0*g0_1`.
  std::string length(std::size_t k) const;
};

std::int64_t product(std::span<const std::int64_t> sizes);

/// Precondition: sizes of tensors that are asked for are numbers.
class UnevenSizes {
 public:
  explicit UnevenSizes(const core::Graph& graph) : graph_(graph) {}

  Sizes sizes_of(core::TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }
  std::int64_t length(core::TensorId id, const JoinForm& form) const;
  JoinPlaces places_of(std::span<const core::TensorId> tensors, const JoinForm& form) const;
  /// Whether they are of one type but for those dimensions.
  bool are_alike(std::span<const core::TensorId> tensors, const JoinForm& form) const;

  /// Of the tensor's sizes, which has that number among those that are joined.
  Names names(core::TensorId id, std::size_t k, const JoinPlaces& places) const;
  /// The same with those dimensions as one.
  Names collapsed_names(core::TensorId id, std::size_t k, const JoinPlaces& places) const;
  /// Of the sizes of the join.
  Names whole_names(std::span<const core::TensorId> tensors, const JoinPlaces& places) const;

 private:
  Sizes collapsed(core::TensorId id, const JoinForm& form) const;
  const core::Graph& graph_;
};

}  // namespace soapstone::transforms
