// From equal terms to rules: each pair becomes a candidate, general in its sizes, that may be
// applied in one direction or in both. Candidates that differ only in names of inputs are one.
#pragma once

#include <optional>
#include <vector>

#include "core/progress.h"
#include "generator/enumerate.h"
#include "rules/rule.h"

namespace soapstone::generator {

/// An equality that was found. At least one direction is there.
struct RuleCandidate {
  std::optional<rules::Rule> forward, backward;
  /// Both sides with numbers for all sizes, as different as the guard allows. None if no such
  /// numbers were found: nothing can then be said of what derives it.
  std::optional<Sides> instance;
  bool exact = true;  ///< As EqualPair::exact.
  int operators = 0;  ///< Of both sides together.
  std::size_t inputs = 0;
  std::size_t symbols = 0;  ///< Different sizes.
};

struct CandidateList {
  std::vector<RuleCandidate> candidates;  ///< In the order of the pairs, then of the splits.
  std::size_t pairs = 0;                  ///< Looked at.
  std::size_t duplicates = 0;
  std::size_t without_rule = 0;  ///< Neither direction can be written as a rule.
};

/// `jobs`: threads, 0: one a core; the result is the same for any number.
CandidateList candidates_of(const Enumeration& enumeration, int jobs, core::ProgressSink& progress,
                            const core::StopToken& stop);
/// Of one equality. None if neither direction can be written as a rule.
std::optional<RuleCandidate> candidate_of(const Sides& sides);

}  // namespace soapstone::generator
