// Pairs of random graphs that compute the same, to see how many of them the prover proves, and
// pairs that nearly do, to see that it proves none of those.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::fuzz {

struct PairOptions {
  std::uint64_t seed = 1;
  std::size_t worlds = 17;          ///< Sets of inputs; the texts are taken in turn.
  std::size_t draws = 3000;         ///< Nodes drawn in each.
  std::size_t most_nodes = 5;       ///< On each side.
  std::size_t most_of_one_law = 2;  ///< Equal pairs that differ in the same operators.
  std::uint64_t max_steps = 300'000;
  int check_sizes = 30;
  std::function<void(const std::string&)> progress;
};

struct PairFailure {
  std::string reason, rule;
  double ms = 0;
};

struct PairReport {
  /// Pairs that no search tells apart: those that agree in the prime field, where functions are
  /// random but for a few properties, and those that agree in doubles alone, whatever the reason.
  std::size_t equal = 0, proved = 0;
  std::size_t equal_in_doubles = 0, proved_in_doubles = 0;
  std::size_t unequal = 0, wrong_proved = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_operator;  ///< Equal, proved.
  std::map<std::string, std::size_t> unequal_by_operator;
  std::map<std::string, std::vector<PairFailure>> unproved;  ///< By the reason. Of both.
  std::vector<PairFailure> wrong;                            ///< Unequal and proved.
  double cpu_s = 0, proof_cpu_s = 0;
};

/// Deterministic, times apart.
PairReport try_random_pairs(const PairOptions& options);
/// Counts, and for each reason up to `examples` rules.
std::string to_text(const PairReport& report, std::size_t examples);

}  // namespace soapstone::fuzz
