// Answers that are harder to find than to check: a proof needs them besides computing. Found once,
// by the guesser and by elimination; kept, so that a proof can be replayed without either.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "verifier/forms/arena.h"
#include "verifier/questions/budget.h"

namespace soapstone::verifier {

/// The answers of one proof, by the hash of what was asked.
struct ProofRecord {
  /// Sets of facts that no integers satisfy.
  std::set<std::uint64_t> impossible;
  /// For two summands: the bijections of their binders under which their bodies are equal.
  std::map<std::uint64_t, std::vector<Substitution>> bijections;
  bool operator==(const ProofRecord&) const = default;
};

enum class Reply : std::uint8_t {
  kRejected,  ///< Not a bijection, or the summands differ under it.
  kUseful,    ///< Fits; go on.
  kDone,      ///< Fits; no other is wanted.
};

class Witness {
 public:
  /// Looks for the answers and keeps them.
  Witness() = default;
  /// Has the answers. Whoever asks must not trust any of them.
  explicit Witness(ProofRecord record) : record_(std::move(record)), is_replay_(true) {}

  bool is_replay() const { return is_replay_; }
  const ProofRecord& record() const { return record_; }

  /// Under which a record lists a set of facts.
  static std::uint64_t key(std::span<const Fact> facts);
  /// Whether no integers satisfy the facts, as elimination finds or as the record claims.
  bool is_impossible(std::span<const Fact> facts);
  /// Whether these facts, which are about reals, contradict each other, as far as is found; which
  /// of them do goes to `used`.
  bool is_contradiction(std::span<const Fact> facts, std::vector<Fact>& used);
  using Accept = std::function<Reply(const Substitution&)>;
  /// Calls `accept` with values for the binders of `b` until it is done. Whether it was. Errors:
  /// throws OutOfBudget where the budget ends before the guesses do.
  bool for_each_bijection(Arena& arena, Budget& budget, const Summand& a, const Summand& b,
                          const Accept& accept);

 private:
  ProofRecord record_;
  bool is_replay_ = false;
};

}  // namespace soapstone::verifier
