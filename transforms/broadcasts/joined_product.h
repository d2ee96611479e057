// Products of a join along the axis that is summed: sums of products, each of which is computed as
// often as its own part differs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/broadcasts/repeated.h"

namespace soapstone::transforms {

/// A part of a join as the steps so far have left it.
struct JoinedPart {
  Repeated tensor;
  bool is_shared = false;  ///< Other products multiply it by the same rows of the same matrix.
  /// If the part is a sum or difference of two tensors: these, and what is written of each.
  struct Term {
    core::TensorId id;
    Repeated tensor;
    std::vector<bool> left_out;
  };
  std::vector<Term> terms = {};
};

/// A product with one matrix of a join along the summed axis: of rows, perhaps with a reshape of
/// all else in between, or of the channels of each point of an image.
struct JoinedProduct {
  const core::Node* product = nullptr;
  const core::Node* reshape = nullptr;  ///< Null: none.
  const core::Node* join = nullptr;
  const core::Node* bias = nullptr;  ///< Adds numbers of each column behind it; null: none.
  std::size_t axis = 0;              ///< Of the join.
  core::TensorId offset = core::TensorId::none();  ///< These numbers, if there are some.

  /// What computes the result.
  const core::Node& last() const { return bias != nullptr ? *bias : *product; }
};
std::optional<JoinedProduct> joined_product(const core::Graph& graph, const core::Node& node);

/// Rules that make one product of so many of one tensor with the same rows of a matrix.
std::vector<std::string> shared_product(const core::Graph& graph, const JoinedProduct& found,
                                        std::size_t part, std::size_t count);

struct SummedProduct {
  std::vector<std::string> texts;
  Repeated result;  ///< Its base has no number yet.
};
/// None: no part is computed less often than the whole. `weight` is the number of the matrix.
std::optional<SummedProduct> summed_product(const core::Graph& graph, const JoinedProduct& found,
                                            const std::vector<JoinedPart>& parts,
                                            std::size_t weight);

}  // namespace soapstone::transforms
