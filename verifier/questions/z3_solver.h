// Z3 behind the interface of solver questions. One context each, so each thread makes its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "verifier/questions/oracle.h"

namespace soapstone::verifier {

/// A question that takes more than that many of Z3's steps counts as not proved: steps, not
/// seconds, so that the answer does not depend on the machine.
inline constexpr unsigned kMostSteps = 3'000'000;

/// Answers that several solvers share. Thread-safe.
class SolverAnswers {
 public:
  using Question = std::vector<std::int64_t>;
  std::optional<bool> find(const Question& question) const;
  void insert(const Question& question, bool answer);

 private:
  struct Hash {
    std::size_t operator()(const Question& question) const;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<Question, bool, Hash> known_;
};

/// `answers`: those that it looks at first, and adds to; null: of its own.
std::unique_ptr<Solver> make_z3_solver(unsigned most_steps = kMostSteps,
                                       std::shared_ptr<SolverAnswers> answers = nullptr);
/// `4.8.12`
std::string z3_version();

}  // namespace soapstone::verifier
