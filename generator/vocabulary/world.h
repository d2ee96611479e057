// The inputs of all terms, and the concrete sizes and values at which terms are compared.
// Shapes are symbolic. Dimensions that some operator may require equal share one symbol (a matrix
// is n × n), so that a handful of inputs serves every operator; which of these equations a rule
// really needs is found out when it is generalized.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/tensor_type.h"
#include "generator/vocabulary/vocabulary.h"

namespace soapstone::generator {

/// Inputs of one type. They are interchangeable: a term uses them in the order 0, 1, ….
struct InputGroup {
  std::string stem;  ///< Input k is called `<stem><k>`.
  core::TensorType type;
  std::uint8_t count = 0;
  /// The bound of integers, which are indices: some may be as large as this, which is out of range.
  core::Polynomial index_bound = 0;
  /// Tensors that its variables may stand for: one to spare, to see which variables matter.
  unsigned slots() const { return count + 1u; }
};

/// Number k of input group `group`.
struct Variable {
  std::uint8_t group = 0, index = 0;
  auto operator<=>(const Variable&) const = default;
};

/// Values for the size symbols.
struct World {
  std::vector<std::int64_t> sizes;
  core::Dims dims(const core::Shape& shape) const;
  /// The attributes with a number for each size.
  core::Attributes attributes(const core::Attributes& of) const;
};

/// A constant of a given shape.
struct ConstantInput {
  Constant constant;
  core::TensorType type;
};

struct Universe {
  static constexpr std::size_t kMostGroups = 10;
  core::SymbolTable symbols;
  std::vector<InputGroup> groups;
  std::vector<ConstantInput> constants;
  /// The shapes, besides the inputs', to which a reshape or an expansion may lead.
  std::vector<core::Shape> shapes;
  /// Inputs in the prime field are multiples of it: means are then integers, which have an order.
  std::int64_t divisor = 1;
  /// The smallest, the largest, and one whose values alone differ much from those of the others.
  /// No two shapes that terms of a few operators have coincide in all of them.
  static constexpr std::size_t kSmallest = 0, kLargest = 1;
  std::vector<World> worlds;
};

/// Derived from what the operators take. `ops`: how many operators a term has at most.
Universe make_universe(const Vocabulary& vocabulary, int ops);

/// Elements of a constant at concrete sizes, row-major, as fractions with one denominator.
struct ConstantElements {
  std::vector<std::int64_t> numerators;
  std::int64_t denominator = 1;
};
ConstantElements elements_of(Constant constant, const core::Dims& dims);

}  // namespace soapstone::generator
