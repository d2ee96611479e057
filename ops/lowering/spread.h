// Tensors whose dimensions are index variables, and what operators make of them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/language/comprehension.h"
#include "ops/lowering/index_space.h"
#include "ops/lowering/shared_nodes.h"

namespace soapstone::ops {

/// A number, or a tensor with a dimension for each variable on which its elements depend.
struct Spread {
  std::optional<double> number;
  core::TensorId tensor;
  std::vector<Symbol> axes;  ///< In the order of the space.
};

inline Spread number_of(double value) { return {value, {}, {}}; }

/// Intermediate tensors with more elements are refused.
inline constexpr std::int64_t kMostSpreadElements = std::int64_t{1} << 29;

/// Appends elementwise operators. Borrows all; `type` is that of real numbers.
class SpreadOps {
 public:
  SpreadOps(SharedNodes& nodes, const IndexSpace& space, core::DataType type)
      : nodes_(nodes), space_(space), type_(type) {}

  core::DataType type() const { return type_; }
  core::DataType type_of(const Spread& x) const;
  /// A number becomes a scalar.
  Spread as(const Spread& x, core::DataType type);
  /// A bool that says whether the value is not 0.
  Spread condition(const Spread& x);
  /// An operator of operands that are broadcast to each other.
  Spread broadcast(std::string_view op, std::vector<Spread> operands);
  /// The same for two numbers of one type; an integer becomes real beside a real number.
  Spread binary(std::string_view op, const Spread& a, const Spread& b);
  Spread unary(std::string_view op, const Spread& x);
  Spread times(const Spread& a, const Spread& b);
  Spread over(const Spread& a, const Spread& b);
  Spread plus(const Spread& a, const Spread& b);
  Spread minus(const Spread& a, const Spread& b);
  Spread select(const Spread& condition, const Spread& a, const Spread& b);
  Spread apply(Function function, const std::vector<Spread>& arguments);
  /// `x` where the table is not 0, else `other`.
  Spread masked(const IndexTable& mask, const Spread& x, double other);
  /// Over these axes, which the result has no more.
  Spread reduced(std::string_view op, const Spread& x, std::span<const Symbol> axes);
  Spread constant(const IndexTable& table, core::DataType type);

 private:
  Spread aligned(const Spread& x, std::span<const Symbol> axes);
  bool is_small(std::span<const Symbol> axes);

  SharedNodes& nodes_;
  const IndexSpace& space_;
  core::DataType type_;
};

}  // namespace soapstone::ops
