// Products of symbols are given to Z3 as integers of their own: all it needs is linear arithmetic.
#include "verifier/z3_solver.h"

#include <z3++.h>

#include <map>

namespace soapstone::verifier {
namespace {

class Z3Solver final : public Solver {
 public:
  explicit Z3Solver(unsigned timeout_ms) : solver_(context_, z3::solver::simple()) {
    z3::params parameters(context_);
    parameters.set("timeout", timeout_ms);
    solver_.set(parameters);
  }

  bool proves_impossible(std::span<const Fact> facts) override {
    return with(facts, [] {});
  }

  bool proves_zero(std::span<const Fact> facts, std::span<const WeightedGuards> sum) override {
    return with(facts, [&] {
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
    return with(facts, [&] { solver_.add(any_of(a) != any_of(b)); });
  }

 private:
  template <class Add>
  bool with(std::span<const Fact> facts, Add add) {
    solver_.push();
    for (const Fact& fact : facts) solver_.add(formula(fact));
    add();
    const z3::check_result result = solver_.check();
    solver_.pop();
    return result == z3::unsat;
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

  z3::context context_;
  z3::solver solver_;
  std::map<Monomial, z3::expr> unknowns_;
};

}  // namespace

std::unique_ptr<Solver> make_z3_solver(unsigned timeout_ms) {
  return std::make_unique<Z3Solver>(timeout_ms);
}

}  // namespace soapstone::verifier
