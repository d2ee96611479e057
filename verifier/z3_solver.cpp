// Products of symbols are given to Z3 as integers of their own: all it needs is linear arithmetic.
#include "verifier/z3_solver.h"

#include <z3++.h>

#include <map>
#include <unordered_map>
#include <vector>

#include "core/hash.h"

namespace soapstone::verifier {
namespace {

/// Facts as numbers, with symbols numbered as they appear: facts that differ in the names of symbols
/// only are the same.
using Anonymous = std::vector<std::int64_t>;

Anonymous anonymous(std::span<const Fact> facts) {
  Anonymous result;
  std::vector<Symbol> names;
  const auto number = [&](Symbol symbol) {
    const auto at = std::find(names.begin(), names.end(), symbol);
    const auto position = at - names.begin();
    if (at == names.end()) names.push_back(symbol);
    return static_cast<std::int64_t>(position);
  };
  for (const Fact& fact : facts) {
    result.push_back(static_cast<std::int64_t>(fact.kind));
    result.push_back(fact.expression.constant());
    result.push_back(static_cast<std::int64_t>(fact.expression.parts().size()));
    for (const Linear::Part& part : fact.expression.parts()) {
      result.push_back(part.coefficient);
      const std::size_t degree = part.monomial.degree();
      result.push_back(static_cast<std::int64_t>(degree));
      for (std::size_t k = 0; k < degree; ++k) result.push_back(number(part.monomial.symbol(k)));
    }
  }
  return result;
}

struct AnonymousHash {
  std::size_t operator()(const Anonymous& key) const {
    std::uint64_t hash = key.size();
    for (std::int64_t value : key) hash = core::hash_combine(hash, static_cast<std::uint64_t>(value));
    return hash;
  }
};

class Z3Solver final : public Solver {
 public:
  explicit Z3Solver(unsigned timeout_ms) : solver_(context_, z3::solver::simple()) {
    z3::params parameters(context_);
    parameters.set("timeout", timeout_ms);
    solver_.set(parameters);
  }

  /// Proofs of one rule set ask the same thing again and again.
  bool proves_impossible(std::span<const Fact> facts) override {
    Anonymous key = anonymous(facts);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const z3::check_result result = check(facts, [] {});
    if (result != z3::unknown && known_.size() < kMaxRemembered) {
      known_.emplace(std::move(key), result == z3::unsat);
    }
    return result == z3::unsat;
  }

  bool proves_zero(std::span<const Fact> facts, std::span<const WeightedGuards> sum) override {
    return z3::unsat == check(facts, [&] {
      z3::expr total = context_.int_val(0);
      for (const WeightedGuards& part : sum) {
        total = total +
                z3::ite(all_of(part.guards), context_.int_val(part.weight), context_.int_val(0));
      }
      solver_.add(total != 0);
    });
  }

  bool proves_same_union(std::span<const Fact> facts, std::span<const FactSet> a,
                         std::span<const FactSet> b) override {
    return z3::unsat == check(facts, [&] { solver_.add(any_of(a) != any_of(b)); });
  }

 private:
  template <class Add>
  z3::check_result check(std::span<const Fact> facts, Add add) {
    solver_.push();
    for (const Fact& fact : facts) solver_.add(formula(fact));
    add();
    const z3::check_result result = solver_.check();
    solver_.pop();
    return result;
  }

  z3::expr unknown(const Monomial& monomial) {
    const auto found = unknowns_.find(monomial);
    if (found != unknowns_.end()) return found->second;
    const std::string name = "x" + std::to_string(unknowns_.size());
    return unknowns_.emplace(monomial, context_.int_const(name.c_str())).first->second;
  }

  z3::expr formula(const Fact& fact) {
    z3::expr sum = context_.int_val(fact.expression.constant());
    for (const Linear::Part& part : fact.expression.parts()) {
      sum = sum + context_.int_val(part.coefficient) * unknown(part.monomial);
    }
    return fact.kind == Fact::Kind::kZero ? sum == 0 : sum >= 0;
  }

  z3::expr all_of(const FactSet& facts) {
    z3::expr_vector formulas(context_);
    for (const Fact& fact : facts) formulas.push_back(formula(fact));
    return z3::mk_and(formulas);
  }

  z3::expr any_of(std::span<const FactSet> sets) {
    z3::expr_vector formulas(context_);
    for (const FactSet& facts : sets) formulas.push_back(all_of(facts));
    return z3::mk_or(formulas);
  }

  static constexpr std::size_t kMaxRemembered = 100'000;

  z3::context context_;
  z3::solver solver_;
  std::map<Monomial, z3::expr> unknowns_;
  std::unordered_map<Anonymous, bool, AnonymousHash> known_;  ///< Whether impossible.
};

}  // namespace

std::unique_ptr<Solver> make_z3_solver(unsigned timeout_ms) {
  return std::make_unique<Z3Solver>(timeout_ms);
}

}  // namespace soapstone::verifier
