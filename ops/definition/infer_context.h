// How an operator states its shape rule once, for numbers and for symbols alike. On numbers a
// violated constraint is an error that the user sees; on symbols constraints are collected, and
// rules/ and verifier/ solve them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/op_schema.h"
#include "core/graph/tensor_type.h"

namespace soapstone::ops {

using core::Polynomial;
using core::Shape;
using core::TensorType;

/// A condition on sizes under which a symbolic shape rule holds. Labels name the rule in messages
/// and tests.
struct SizeConstraint {
  enum class Kind : std::uint8_t { kNonNegative, kZero };
  Kind kind;
  Polynomial expression;
  std::string label;
};

/// A size that no polynomial expresses: ⌊numerator / divisor⌋ or max(0, numerator).
struct DerivedSize {
  enum class Kind : std::uint8_t { kFloorDiv, kMaxZero };
  Kind kind;
  core::Symbol symbol;
  Polynomial numerator;
  std::int64_t divisor = 1;
};

class InferContext {
 public:
  InferContext(const core::Attributes& attributes, std::span<const TensorType> inputs,
               std::string op_name);

  const core::Attributes& attributes() const { return attributes_; }
  std::size_t input_count() const { return inputs_.size(); }
  /// False for an optional input that is left out (its shape_known is false).
  bool has_input(std::size_t k) const;
  const TensorType& input(std::size_t k) const { return inputs_[k]; }
  const Shape& shape(std::size_t k) const { return inputs_[k].shape; }
  std::size_t rank(std::size_t k) const { return inputs_[k].shape.size(); }

  /// Each records what must hold; on numbers that do not satisfy it the context fails (first
  /// failure wins). All return whether inference may go on.
  bool require(bool condition, std::string_view label, std::string message);
  bool require_rank(std::size_t k, std::size_t rank, std::string_view label);
  bool require_equal(const Polynomial& a, const Polynomial& b, std::string_view label);
  bool require_at_least(const Polynomial& a, const Polynomial& b, std::string_view label);

  /// ⌊a / divisor⌋, ⌈a / divisor⌉, max(0, a); exact on numbers, a derived size on symbols, the
  /// same symbol for the same question.
  Polynomial floor_div(const Polynomial& a, std::int64_t divisor);
  Polynomial ceil_div(const Polynomial& a, std::int64_t divisor);
  Polynomial max_zero(const Polynomial& a);
  /// NumPy broadcasting. A literal 1 stretches; two different symbols are required equal.
  Shape broadcast(const Shape& a, const Shape& b, std::string_view label);

  /// Asks the shape rule of another operator about these inputs, with the same attributes: what it
  /// records or refuses counts here, too.
  std::vector<TensorType>
  infer_with(const std::function<std::vector<TensorType>(InferContext&)>& rule,
             std::span<const TensorType> inputs, std::string op_name);

  bool failed() const { return failed_; }
  core::Error error() const { return error_; }
  const std::vector<SizeConstraint>& constraints() const { return constraints_; }
  const std::vector<DerivedSize>& derived() const { return derived_; }
  /// Derived symbols are numbered from here on, above all symbols of the caller's table.
  void set_first_derived(core::Symbol symbol) { next_derived_ = symbol; }

 private:
  const core::Attributes& attributes_;
  std::span<const TensorType> inputs_;
  std::string op_name_;
  bool failed_ = false;
  core::Error error_;
  std::vector<SizeConstraint> constraints_;
  std::vector<DerivedSize> derived_;
  core::Symbol next_derived_{1u << 30};
};

}  // namespace soapstone::ops
