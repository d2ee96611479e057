// The language in which every operator states its meaning: one output element as an expression in
// its index. Executor, fingerprints, proofs, costs and partitioning all interpret this one text.
// Left out on purpose: data-dependent indices, truncating division, sorting. An operator that
// selects by data states which values it admits as requirements beside its stages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/graph/polynomial.h"
#include "core/graph/tensor_type.h"
#include "ops/language/functions.h"

namespace soapstone::ops {

using core::Polynomial;
using core::Shape;
using core::Symbol;

struct Rational {
  std::int64_t numerator = 0;
  /// Positive, and the fraction is reduced. 0 only for the constants ±∞ (±1/0) and NaN (0/0),
  /// which a model may contain: numbers can be computed with them, proofs must refuse them.
  std::int64_t denominator = 1;
  bool operator==(const Rational&) const = default;
};

/// Exact where the double is a dyadic fraction that fits; otherwise its shortest decimal form as a
/// fraction (1e-5 is 1/100000) or, where that is too long, a short fraction that is nearest to that
/// double. Smaller magnitudes than 2^-62 round to the nearest fraction that a Rational can hold;
/// larger ones than 2^63 saturate.
Rational to_rational(double value);

/// `expression` ≥ 0 or = 0.
struct Constraint {
  enum class Kind : std::uint8_t { kNonNegative, kZero };
  Kind kind;
  Polynomial expression;
};
Constraint at_least(const Polynomial& a, const Polynomial& b);  ///< a ≥ b
Constraint less(const Polynomial& a, const Polynomial& b);      ///< a < b
Constraint equal(const Polynomial& a, const Polynomial& b);

/// A variable that runs over low ≤ v < high.
struct Binder {
  Symbol variable;
  Polynomial low, high;
};

enum class ExprKind : std::uint8_t {
  kNumber,      ///< number
  kIndexValue,  ///< the integer `index[0]` as an element
  kRead,        ///< tensor[index…]
  kReadFlat,    ///< element number index[0] of the tensor in row-major order (reshape)
  kAdd,
  kMul,      ///< of all arguments
  kInverse,  ///< 1 / argument
  kApply,    ///< function(arguments)
  kGuard,    ///< argument where all constraints hold, else 0
  kSum,      ///< over the binders, of argument where all constraints hold
  kMax,      ///< the largest of all alternatives
};

class ExprNode;
/// Immutable and shared.
using Expr = std::shared_ptr<const ExprNode>;

/// One set of elements that a maximum is taken over: body for all binders where constraints hold.
struct Alternative {
  std::vector<Binder> binders;
  std::vector<Constraint> constraints;
  Expr body;
};

class ExprNode {
 public:
  ExprKind kind;
  Rational number;
  std::uint32_t tensor = 0;  ///< Inputs are numbered first, then stages (see Semantics).
  std::vector<Polynomial> index;
  std::vector<Constraint> constraints;
  std::vector<Binder> binders;
  std::vector<Alternative> alternatives;
  Function function = Function::kRelu;
  std::vector<Expr> arguments;
};

Expr number(Rational value);
Expr number(double value);
Expr index_value(Polynomial value);
Expr read(std::uint32_t tensor, std::vector<Polynomial> index);
Expr read_flat(std::uint32_t tensor, Polynomial position);
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr inverse(Expr a);
Expr apply(Function function, std::vector<Expr> arguments);
Expr guard(std::vector<Constraint> constraints, Expr body);
Expr sum(std::vector<Binder> binders, Expr body, std::vector<Constraint> constraints = {});
/// The empty maximum has no value; an operator's shape constraints must exclude it.
Expr maximum(std::vector<Alternative> alternatives);
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);  ///< −max(−a, −b)

/// A tensor defined element by element: element `index` of it is `body`.
struct Stage {
  Shape shape;
  std::vector<Symbol> index;
  Expr body;
};

/// A precondition on data that belongs to a definition: low ≤ `value` < high at every index of
/// `shape`. If it does not hold, the operator has no value: an executor reports an error, and a
/// proof must show it for the target wherever the source has it.
struct Requirement {
  Shape shape;
  std::vector<Symbol> index;
  Expr value;  ///< An integer; reads inputs and stages.
  Polynomial low, high;
  std::string what;  ///< Names the value in messages: "index", "label".
};

/// The meaning of an operator on given shapes: stages in order, each reading the inputs (tensors
/// 0 … input_count−1) and earlier stages (the numbers that follow). Softmax has three: maximum,
/// sum of exponentials, quotient.
struct Semantics {
  std::uint32_t input_count = 0;
  std::vector<Stage> stages;
  std::vector<std::uint32_t> outputs;  ///< Tensor numbers.
  std::vector<Requirement> requirements;
};

/// Hands out index variables that are unique within one Semantics, and collects its stages.
class SemanticsBuilder {
 public:
  explicit SemanticsBuilder(std::uint32_t input_count);
  Symbol fresh();
  std::vector<Symbol> fresh(std::size_t count);
  /// Σ over 0 ≤ v < size of body(v); `body` may call sum again.
  Expr sum_over(const Polynomial& size, const std::function<Expr(Polynomial)>& body);
  Expr max_over(const Polynomial& size, const std::function<Expr(Polynomial)>& body);
  /// Adds the tensor whose element at the given index is body(index). Returns its tensor number.
  std::uint32_t stage(Shape shape, const std::function<Expr(const std::vector<Polynomial>&)>& body);
  /// stage(), and the tensor is the next output.
  void output(Shape shape, const std::function<Expr(const std::vector<Polynomial>&)>& body);
  /// Requires low ≤ value(index) < high at every index of `shape`.
  void require(std::string what, Shape shape,
               const std::function<Expr(const std::vector<Polynomial>&)>& value, Polynomial low,
               Polynomial high);
  Semantics finish() &&;

 private:
  Semantics semantics_;
  std::uint32_t next_index_ = 0;
};

std::string to_string(const Semantics& semantics, const core::SymbolTable& names);

}  // namespace soapstone::ops
