// Computes a graph as the types of its tensors have it: integers exactly, and they wrap around;
// casts round. A walk over the comprehensions, element by element, for small tensors: a check on
// proofs, with which it shares nothing.
#pragma once

#include <string>
#include <vector>

#include "core/graph/literal.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

__extension__ typedef __int128 ExactInteger;

/// Row-major elements. Floating types fill `reals`, all others `integers`.
struct TypedValues {
  core::DataType type = core::DataType::kFloat32;
  std::vector<double> reals;
  std::vector<ExactInteger> integers;
};

/// Chooses which of two fillings stands for the result of a cast of a number beyond the range of
/// its type, which is infinite or up to the machine. If a result is the same with both, the cast
/// does not matter.
enum class Filling : std::uint8_t { kFirst, kSecond };

/// Values of all outputs. Reals are doubles: only a cast rounds them to its type.
/// Precondition: all sizes are numbers. Errors: kInvalidInput: an operator does not admit a
/// value; kUnsupported: a function that integers do not have, or too much work.
Result<std::vector<TypedValues>> run_typed(const Graph& graph, std::span<const TypedValues> inputs,
                                           Filling filling = Filling::kFirst);

/// The values of an integer type from low to high. Precondition: no floating type.
struct ExactRange {
  ExactInteger low, high;
};
ExactRange exact_range(core::DataType type);
/// The stand-in for an integer that a machine may choose. Precondition: no floating type.
ExactInteger stand_in(core::DataType type, Filling filling);
/// Modulo 2^bits. Precondition: an integer type of 8 bits or more.
ExactInteger wrapped(ExactInteger value, core::DataType type);
/// The number of that floating type that is nearest to the value.
double nearest(double value, core::DataType type);

std::string element_text(const TypedValues& values, std::size_t element);
core::Literal to_literal(const TypedValues& values, const core::Dims& dims);
TypedValues from_literal(const core::Literal& literal);

}  // namespace soapstone::rules
