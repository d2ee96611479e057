// Functions of single elements behind an operation, as operations of their own.
#pragma once

#include <map>

#include "gpu/forms/flat_expression.h"
#include "gpu/forms/operation_heads.h"

namespace soapstone::gpu {

/// A function that libraries know by a name, and the node that it is a function of.
struct KnownFunction {
  Pointwise function = Pointwise::kGelu;
  std::size_t argument = 0;
};
/// Found by its values at a few points. None: the node is no such function of another node.
std::optional<KnownFunction> known_function(const FlatExpression& expression, std::size_t node);

/// The node that the other one is a function of, and of nothing else but numbers: the nearest.
std::optional<std::size_t> sole_argument(const FlatExpression& expression, std::size_t node);

struct PointwiseRequest {
  const Region& region;
  const FlatExpression& expression;
  std::vector<FlatLoop> axes;                      ///< The dimensions of the result.
  core::Dims strides;                              ///< Of the result and of what lies between.
  core::DataType data_type;                        ///< Likewise.
  std::map<std::size_t, std::uint32_t> available;  ///< Tensors of the graph by node.
};

/// Appends what leads to the root of the expression, whose tensor is returned.
/// Errors: kUnsupported for functions of three arguments, comparisons and other types than the
/// result's.
core::Result<std::uint32_t> append_pointwise(OperationDraft& draft, PointwiseRequest request);

}  // namespace soapstone::gpu
