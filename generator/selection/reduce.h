// Picks a small set of equalities that derives the rest. An equality is dropped when rules kept so
// far already rewrite one side into the other. Levels are looked at in turn, most general
// equalities first. Every term is rewritten at its root only: replacing operands by equal ones is
// covered by the levels below.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/progress.h"
#include "generator/enumeration/enumerate.h"
#include "generator/generalization/candidates.h"

namespace soapstone::generator {

class TermRule;

struct ReduceOptions {
  int jobs = 0;                            ///< Threads; 0: one a core.
  core::ProgressSink* progress = nullptr;  ///< Null: silent.
  const core::StopToken* stop = nullptr;
};

struct ReduceStatistics {
  std::uint64_t pairs = 0;
  std::uint64_t derived = 0;       ///< Follow from what is kept.
  std::uint64_t wrong = 0;         ///< Differ at other sizes or values.
  std::uint64_t without_rule = 0;  ///< Neither direction can be written as a rule.
  std::uint64_t kept = 0;
  std::uint64_t of_constants = 0;  ///< Kept besides: laws without inputs, which folding knows.
};

/// Takes enumerations of one vocabulary after the other; what is kept of one serves the next.
class Reducer {
 public:
  explicit Reducer(const ReduceOptions& options);
  ~Reducer();
  Reducer(Reducer&&) noexcept;

  /// Adds to `kept()` what the enumeration shows that does not follow from it. The result does not
  /// depend on the number of threads.
  void add(const Enumeration& enumeration);

  /// In the order in which they were found. Takes them away.
  std::vector<RuleCandidate> take_kept() { return std::move(kept_); }
  /// Results of operators on constants alone. They make no rules: whoever folds constants does the
  /// same.
  const std::vector<rules::Rule>& constant_laws() const { return constant_laws_; }
  const ReduceStatistics& statistics() const { return statistics_; }

 private:
  class Level;
  bool stopped() const { return options_.stop != nullptr && options_.stop->stop_requested(); }
  ReduceOptions options_;
  ReduceStatistics statistics_;
  std::vector<RuleCandidate> kept_;
  std::vector<rules::Rule> constant_laws_;
  std::vector<std::unique_ptr<TermRule>> rules_;
};

}  // namespace soapstone::generator
