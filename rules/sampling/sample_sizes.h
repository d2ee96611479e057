// Sizes at which both sides of a rule have types: drawn at random, equations between them solved,
// since they hardly hold by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "rules/rule/rule.h"
#include "rules/sampling/sample.h"

namespace soapstone::rules {

class SizeSampler {
 public:
  /// `rule` must outlive it.
  explicit SizeSampler(const Rule& rule);

  /// Values of all symbols; sizes of inputs are at most `largest` unless an equation wants more.
  /// Whether they fit the rule is for admits() to say.
  Bindings draw(Random& random, std::int64_t largest) const;
  /// Solves the equations of the rule again, after one symbol was set by hand; it stays.
  void repair(Bindings& values, core::Symbol fixed, Random& random) const;
  /// Whether guard and source hold. Complexity: much less than giving types to the sides.
  bool admits(const Bindings& values) const;

 private:
  std::vector<ops::SizeConstraint> equations(const Bindings& values) const;
  void solve(const core::Polynomial& p, Bindings& values, Random& random,
             const core::Symbol* fixed) const;

  const Rule& rule_;
  Sampler sampler_;
  /// Assumptions of the source; empty if the rule has parameters, on which they depend.
  std::vector<ops::SizeConstraint> assumptions_;
  Rule conditions_;  ///< A rule without sides: guard, assumptions and derived sizes.
};

}  // namespace soapstone::rules
