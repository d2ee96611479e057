// From equal terms to rules: an equality becomes a candidate, as general as it may be, that may be
// applied in one direction or in both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "generator/terms/term.h"
#include "rules/rule/rule.h"
#include "rules/text/evidence.h"

namespace soapstone::generator {

/// One direction of an equality: a rule as it will stand in a file, and what it expands to.
struct DirectedRule {
  std::string text;                    ///< The text of a rule called `rule`.
  std::vector<rules::Rule> instances;  ///< Not empty; one for each choice of ranks.
  rules::EvidenceLine evidence = {};   ///< It covers all instances; none before it is proved.
};

/// An equality that was found. At least one direction is there.
struct RuleCandidate {
  std::optional<DirectedRule> forward, backward;
  bool is_own_reverse = false;  ///< So that there is no backward: forward says the same.
  /// The direction that only adds to its source, x·x = relu(x·x). No rule to rewrite with; what
  /// is derived may need it.
  std::optional<DirectedRule> expansion;
  /// Both sides with numbers for all sizes, as different as the guard allows: of the rank that it
  /// was found at, and of two more of a family. What does not follow there does not follow. None if
  /// no such numbers were found: nothing can then be said of what derives it.
  std::vector<Sides> examples;
  /// What it says at other ranks adds nothing.
  bool only_as_found = false;
  std::size_t weight = 0;  ///< Operators of both sides, more or less.
  std::size_t inputs = 0;
  std::size_t symbols = 0;  ///< Different sizes.
  std::size_t depth = 0;    ///< The deeper side's depth.
  Sides found;              ///< The equality as the terms have it.
  int form = 0;             ///< Number of the equality's form; 0: the most general.
};

/// The most general form of an equality, from number `first_form` on, that can be written as a rule
/// and agrees on a few random sizes and values. None if no form is left.
std::optional<RuleCandidate> candidate_of(const Sides& sides, int first_form = 0);
/// The equality in its least general form, as it was found.
std::optional<RuleCandidate> narrowest_candidate_of(const Sides& sides);

/// Those of the other instances of a family: it follows where these and its own examples do.
std::vector<Sides> further_examples(const RuleCandidate& candidate);

/// Both sides as they were found, with numbers for all sizes. None if neither direction can be
/// written as a rule.
std::optional<Sides> example_of(const Sides& sides);

/// Whether either direction can be written as a rule.
bool is_rule(const Sides& sides);

/// Most general first: light, many inputs, shallow, many different sizes.
bool more_general(const RuleCandidate& a, const RuleCandidate& b);

}  // namespace soapstone::generator
