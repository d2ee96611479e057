// Einsums that are one batch of matrix products, and what stands behind them as the kernel of the
// product sees it: which operands of its result it can read while it computes.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/graph/graph.h"
#include "ops/parts/product_labels.h"

namespace soapstone::runtime {

class EinsumProduct {
 public:
  /// None: the node is no einsum, or no product of two matrices.
  static std::optional<EinsumProduct> of(const core::Node& node);

  const ops::EinsumEquation& equation() const { return equation_; }
  const ops::ProductLabels& labels() const { return labels_; }

  /// With which dimensions of the product [batch, rows, columns] a tensor varies.
  struct Spread {
    bool batch = false, rows = false, columns = false;
    bool operator==(const Spread&) const = default;
  };
  /// How a tensor that broadcasts to the result varies with the product. None: it varies with a
  /// part of a dimension of the product (one label of a batch of two), its elements lie in another
  /// order than those of the product, or no library reads it so behind a batch of products.
  /// Dimensions of size 1 are no obstacle; where one stands for another, the fewest are named.
  std::optional<Spread> spread(const core::Shape& operand, const core::Shape& result) const;
  /// True if the result's elements lie as the product leaves them.
  bool lies_as_computed(const core::Shape& result) const;

 private:
  EinsumProduct(ops::EinsumEquation equation, ops::ProductLabels labels)
      : equation_(std::move(equation)), labels_(std::move(labels)) {}
  /// The labels of a tensor that broadcasts to the result whose sizes are not 1.
  std::string varying(const core::Shape& operand, const core::Shape& result) const;

  ops::EinsumEquation equation_;
  ops::ProductLabels labels_;
};

}  // namespace soapstone::runtime
