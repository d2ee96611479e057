// Which of several equalities follow from rules, decided in one e-graph of the terms of all: what
// the rules say of a term that two of them have is found once, and when a rule is added, only what
// it matches is looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "generator/selection/derivation.h"
#include "generator/sides/rebuild.h"
#include "rules/saturation/egraph.h"
#include "rules/saturation/saturate.h"

namespace soapstone::generator {

/// Equalities are looked at example by example: the next one of an equality is added when those
/// before it follow.
class SharedDerivations {
 public:
  /// `limits.nodes`: e-nodes that may be added for each example.
  explicit SharedDerivations(const DerivationLimits& limits);

  /// Without examples nothing can be said of what it follows from, and so it does not. Returns its
  /// number; numbers are consecutive.
  std::size_t add(std::vector<Sides> examples);

  /// Saturates with the rules, from where it was. Precondition: they begin with those of the call
  /// before.
  void saturate(const rules::SaturationRules& rules, const core::StopToken& stop);

  /// Whether the rules so far derive all of its examples.
  bool follows(std::size_t number) const;

 private:
  struct Equality {
    std::vector<Sides> examples;
    std::size_t added = 0;  ///< Examples that are in the e-graph.
    std::vector<std::pair<rules::ClassId, rules::ClassId>> sides;  ///< Of the last one, by result.
  };

  void add_example(Equality& equality);
  bool is_joined(const Equality& equality) const;
  bool all_joined() const;
  /// The next examples of what follows. False: there are none.
  bool add_next_examples();

  DerivationLimits limits_;
  std::unique_ptr<rules::EGraph> graph_;
  rules::GrowingSaturation saturation_;
  std::vector<Equality> equalities_;
  std::size_t node_limit_ = 0, known_rules_ = 0;
  /// E-graphs know inputs by number: here those of a type, one after the other, so that examples
  /// share them.
  std::map<std::pair<rules::TypeId, std::size_t>, std::uint32_t> input_numbers_;
};

}  // namespace soapstone::generator
