// Answers questions about integers under the background facts of one rule. Built on elimination;
// what that cannot decide, and every question of an accepted proof again, goes to Z3.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "verifier/integers/linear.h"
#include "verifier/questions/budget.h"
#include "verifier/questions/witness.h"

namespace soapstone::verifier {

/// c · [all guards hold]
struct WeightedGuards {
  std::int64_t weight = 0;
  FactSet guards;
};

/// A solver for linear integer arithmetic; z3_solver.h makes one. Every answer `true` is certain.
class Solver {
 public:
  virtual ~Solver() = default;
  /// No integers satisfy the facts.
  virtual bool proves_impossible(std::span<const Fact> facts) = 0;
  /// Σ weight · [guards] = 0 for all integers that satisfy the facts.
  virtual bool proves_zero(std::span<const Fact> facts, std::span<const WeightedGuards> sum) = 0;
  /// For all integers that satisfy the facts: one of `a` holds exactly if one of `b` does.
  virtual bool proves_same_union(std::span<const Fact> facts, std::span<const FactSet> a,
                                 std::span<const FactSet> b) = 0;
};

class Oracle {
 public:
  /// `sizes`: symbols known to be at least 1, by which facts may be multiplied. Each new question
  /// may end the proof (Budget::go_on), and is no step of it.
  Oracle(FactSet background, std::vector<Symbol> sizes, Solver& solver, Witness& witness,
         const Budget& budget);

  /// False only if certainly no integers satisfy background and facts.
  bool possible(std::span<const Fact> facts);
  /// True only if the facts and the background certainly imply it.
  bool implied(const FactSet& facts, const Fact& conclusion);
  bool zero(const FactSet& facts, std::span<const WeightedGuards> sum);
  bool same_union(const FactSet& facts, std::span<const FactSet> a, std::span<const FactSet> b);
  /// Like possible(), but without the background, which says nothing about symbols of these facts.
  bool possible_alone(std::span<const Fact> facts);
  /// True only if the facts contradict each other. The background is left out.
  bool contradictory(std::span<const Fact> facts);
  const FactSet& background() const { return background_; }
  /// Adds facts that define new symbols: whatever values the other symbols have, there are values
  /// of the new ones that satisfy the facts.
  void define(std::vector<Symbol> symbols, FactSet facts) {
    definitions_.push_back({std::move(symbols), std::move(facts)});
  }

  Witness& witness() { return witness_; }
  /// Asks the solver every question again on which a positive answer of elimination rested.
  /// True if it confirms all.
  bool confirm_all();
  std::uint64_t questions() const { return questions_; }

 private:
  bool impossible(const FactSet& facts, const FactSet& guards);
  std::vector<Fact> relevant(std::span<const Fact> facts) const;
  void append_size_products(const Monomial& monomial, std::vector<Monomial>& out) const;
  void multiply_by_sizes(std::vector<Fact>& facts, std::span<const Fact> mentioned) const;
  /// Facts, background and products, for questions whose guards are not assumed.
  std::vector<Fact> assumptions(const FactSet& facts, std::span<const FactSet> mentioned) const;

  static constexpr std::size_t kMaxMultiplied = 6;  ///< Summands of a fact worth multiplying.

  struct HashOfFacts {
    std::size_t operator()(const FactSet& facts) const;
  };
  struct Definition {
    std::vector<Symbol> symbols;
    FactSet facts;
  };

  FactSet background_;
  std::vector<Definition> definitions_;
  std::vector<Symbol> sizes_;
  Solver& solver_;
  Witness& witness_;
  const Budget& budget_;
  std::unordered_map<FactSet, bool, HashOfFacts> answers_;  ///< Of possible().
  /// What elimination refuted, for confirm_all(): in answers_, and without the background.
  std::vector<const FactSet*> impossible_;
  std::vector<std::vector<Fact>> refuted_;
  std::uint64_t questions_ = 0;
};

}  // namespace soapstone::verifier
