// Einsums that are one batch of matrix products: what each label is to it.
#pragma once

#include <optional>
#include <string>

#include "core/graph/graph.h"
#include "ops/parts/einsum_equation.h"

namespace soapstone::ops {

/// Labels of the product [batch, rows, summed] · [batch, summed, columns], each list in the order
/// in which an operand has it. A list may be empty: one of size 1.
struct ProductLabels {
  std::string batch, rows, columns, summed;

  /// The result's labels in the order in which the product leaves them.
  std::string in_order() const { return batch + rows + columns; }
};

/// None: there are not two operands, a label stands twice in one, or one is summed in one alone.
std::optional<ProductLabels> product_labels(const EinsumEquation& equation);

/// The equation of the node's operator; none: it has none.
std::optional<EinsumEquation> equation_of(const core::Node& node);
/// True if the node is an einsum that has product labels.
bool is_einsum_product(const core::Node& node);

}  // namespace soapstone::ops
