// Comprehensions as normal forms: Σ over i of a[i]·b[i] at symbolic indices becomes one sum of
// products of elements.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "ops/language/comprehension.h"
#include "verifier/laws/laws.h"

namespace soapstone::verifier {

class ComprehensionReader {
 public:
  /// The normal form of element `index` of a tensor that an expression reads.
  using Element = std::function<NormalForm(std::uint32_t tensor, const std::vector<Linear>& index,
                                           const FactSet& context)>;
  /// Sizes of that tensor, for reads at a flat position.
  using ShapeOf = std::function<std::vector<Linear>(std::uint32_t tensor)>;

  /// `unknowns`: numbers that stand for unknown ones.
  ComprehensionReader(Laws& laws, std::vector<ops::Rational> unknowns)
      : laws_(laws), unknowns_(std::move(unknowns)) {}

  /// `names` maps the expression's own symbols; the result is valid where `context` holds.
  NormalForm evaluate(const ops::Expr& expression, const Substitution& names,
                      const Element& element, const ShapeOf& shape_of,
                      const FactSet& context) const;

 private:
  struct Walk;
  NormalForm number(const ops::Rational& value) const;

  /// Tensors from here on are no inputs.
  static constexpr std::uint32_t kFirstUnknown = 1U << 23;

  Laws& laws_;
  std::vector<ops::Rational> unknowns_;
};

}  // namespace soapstone::verifier
