// Runs comprehensions on numbers: in doubles (the reference executor), in the prime field 2^61 − 1
// (fingerprints and rule checks), and in exact integers (see integers.h). A comprehension is
// compiled to a loop nest once for given sizes and then evaluated many times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// The field of integers modulo 2^61 − 1. Additions, products, inverses (1/0 = 0) and rational
/// constants are exact. Order (max, relu) is that of the signed representative, |x| < 2^60.
/// exp, tanh, … are random functions of their argument, fixed by the key, that keep the
/// properties listed in functions.h as far as a random function can (zero_preserving, odd, even).
struct Field {
  using Value = std::uint64_t;
  static constexpr Value kPrime = (Value{1} << 61) - 1;
};

/// A comprehension for concrete sizes, to run on values of type T: double, Field::Value, Integer.
template <class T>
class CompiledSemantics {
 public:
  /// Precondition: all sizes in `semantics` are numbers. `function_key` seeds the random functions
  /// of the prime field.
  explicit CompiledSemantics(const Semantics& semantics, std::span<const core::Dims> input_dims,
                             std::uint64_t function_key = 0);
  ~CompiledSemantics();
  CompiledSemantics(CompiledSemantics&&) noexcept;

  /// Row-major inputs and outputs; an input that is left out is an empty span. Thread-safe.
  /// Errors: kInvalidInput if a requirement does not hold of the inputs; outputs then hold nothing
  /// of use.
  core::Status run(std::span<const std::span<const T>> inputs,
                   std::span<const std::span<T>> outputs) const;
  /// run() for values that nobody is shown: where a requirement does not hold, sums that it makes
  /// select one element select none.
  void compute(std::span<const std::span<const T>> inputs,
               std::span<const std::span<T>> outputs) const;

 private:
  struct Program;
  /// compute(), then the requirements if `is_checked`.
  core::Status execute(std::span<const std::span<const T>> inputs,
                       std::span<const std::span<T>> outputs, bool is_checked) const;
  std::unique_ptr<const Program> program_;
};

extern template class CompiledSemantics<double>;
extern template class CompiledSemantics<Field::Value>;

/// A whole graph, compiled once and run many times.
template <class T>
class GraphProgram {
 public:
  /// Errors: kUnsupported names an opaque node or a constant that holds no numbers; kInvalidInput
  /// if a size is not a number.
  static core::Result<GraphProgram> compile(const core::Graph& graph,
                                            std::uint64_t function_key = 0);
  ~GraphProgram();
  GraphProgram(GraphProgram&&) noexcept;

  /// Values of all outputs, in order, from row-major values of all graph inputs. A tensor's memory
  /// is freed after its last use. Thread-safe. Errors: kInvalidInput if a size differs, or if the
  /// requirements of an operator do not hold.
  core::Result<std::vector<std::vector<T>>> run(std::span<const std::vector<T>> inputs) const;

 private:
  struct Program;
  explicit GraphProgram(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

extern template class GraphProgram<double>;
extern template class GraphProgram<Field::Value>;

/// Compiles and runs a graph once. Errors: as GraphProgram.
template <class T>
core::Result<std::vector<std::vector<T>>> evaluate_graph(const core::Graph& graph,
                                                         std::span<const std::vector<T>> inputs,
                                                         std::uint64_t function_key = 0);

extern template core::Result<std::vector<std::vector<double>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<double>>, std::uint64_t);
extern template core::Result<std::vector<std::vector<Field::Value>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<Field::Value>>, std::uint64_t);

/// A constant's elements in the field: integers and dyadic fractions exactly.
std::vector<Field::Value> to_field(const core::Literal& literal);
std::uint64_t field_from_rational(Rational value);

}  // namespace soapstone::ops
