// One expression of a definition, interpreted on ranges. Private to ops/ranges.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ops/language/comprehension.h"
#include "ops/ranges/node_ranges.h"

namespace soapstone::ops {

/// An element of a tensor, by index expressions.
struct ElementPlace {
  TensorNumber tensor = 0;
  std::vector<Polynomial> index;
  bool operator==(const ElementPlace&) const = default;
};

/// The operands whose specials may be the reason of a NaN, and of an infinity. An infinity may
/// become NaN on its way, never the other way around.
struct SpecialSources {
  std::set<std::uint32_t> of_nan, of_infinity;
};

/// What is known of the values of an expression.
struct ExpressionFact {
  FloatRange range = {};
  SpecialSources sources = {};
  std::optional<ElementPlace> element = {};       ///< The expression is this element.
  std::optional<ElementPlace> magnitude_of = {};  ///< It is the magnitude of this one.
  struct Test {
    ElementPlace of;
    Specials excluded_if_true = 0, excluded_if_false = 0;
  };
  std::vector<Test> tests = {};
  /// Where these variables run from 0 to below these bounds, some value is the upper bound of the
  /// range, or NaN.
  std::vector<std::pair<Symbol, Polynomial>> attained = {};
};

/// Tensors of one node by number: operands, then stages as they become known.
class ExpressionRanges {
 public:
  ExpressionRanges(std::vector<TensorFact> operands, InputMagnitude magnitude,
                   const Magnitudes& type);

  /// Interprets a stage and adds its tensor.
  void add_stage(const Stage& stage, TensorNumber number);
  const TensorFact& fact(std::uint32_t tensor) const { return tensors_[tensor]; }
  const SpecialSources& sources(std::uint32_t tensor) const { return sources_[tensor]; }
  /// By operand: which of its specials may become something finite.
  const std::vector<Specials>& absorbed() const { return absorbed_; }
  /// By operand: which of them the expression asks for.
  const std::vector<Specials>& tested() const { return tested_; }

 private:
  ExpressionFact value(const ExprNode& node);
  ExpressionFact element(const ExprNode& node);
  ExpressionFact sum(const ExprNode& node);
  ExpressionFact product(const ExprNode& node);
  ExpressionFact guarded(const ExprNode& node);
  ExpressionFact total(const ExprNode& node);
  ExpressionFact largest(const ExprNode& node);
  ExpressionFact applied(const ExprNode& node);
  ExpressionFact chosen(std::vector<ExpressionFact> arguments);
  ExpressionFact compared(Function function, const std::vector<ExpressionFact>& arguments);
  ExpressionFact asked(Function function, const ExpressionFact& argument);

  /// Whether `reduced` reads the tensor that holds reductions of that kind of the one that `x`
  /// reads, at the place of x. `along`, if given: the variables of x that it is reduced over.
  bool is_reduction(const ExprNode& x, const ExprNode& reduced, TensorFact::Reduction::Kind kind,
                    std::vector<std::pair<Symbol, Polynomial>>* along = nullptr) const;
  /// x − max x, if that is what these are.
  std::optional<ExpressionFact> centered(const ExprNode& x, const ExprNode& subtracted);
  /// x / Σ x for x ≥ 0, likewise.
  std::optional<ExpressionFact> share(const ExprNode& x, const ExprNode& inverse);
  bool are_equal(const ExprNode& a, const ExprNode& b) const;
  void absorb(const ExpressionFact& argument, Specials which);
  void note(std::vector<Specials>& noted, const ExpressionFact& argument, Specials which);
  /// The fact with this range, whose specials come from those of the arguments.
  static ExpressionFact made_of(const FloatRange& range,
                                std::initializer_list<const SpecialSources*> arguments);
  FloatRange rounded(const FloatRange& range) const { return ops::rounded(range, type_); }

  FloatRange ordinary(const FloatRange& range) const;
  std::optional<TensorFact::Reduction> reduction_of(const Stage& stage) const;

  std::vector<TensorFact> tensors_;
  std::vector<SpecialSources> sources_;  ///< By tensor.
  std::vector<Specials> absorbed_, tested_;
  InputMagnitude magnitude_;
  Magnitudes type_;
};

/// The largest magnitude that counts as ordinary.
double ordinary_magnitude(const Magnitudes& type);

}  // namespace soapstone::ops
