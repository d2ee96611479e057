// Products of symbols are given to Z3 as integers of their own: all it needs is linear arithmetic.
#include "verifier/questions/z3_solver.h"

#include <z3++.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "core/base/hash.h"

namespace soapstone::verifier {
namespace {

/// A question as numbers, with symbols numbered as they appear: questions that differ in the names
/// of symbols only are the same.
class Anonymous {
 public:
  enum class Kind : std::uint8_t { kImpossible, kZero, kSameUnion };
  explicit Anonymous(Kind kind) : numbers_{static_cast<std::int64_t>(kind)} {}
  void add(std::int64_t number) { numbers_.push_back(number); }
  void add(std::span<const Fact> facts) {
    add(std::ssize(facts));
    for (const Fact& fact : facts) {
      add(static_cast<std::int64_t>(fact.kind));
      add(fact.expression.constant());
      add(std::ssize(fact.expression.parts()));
      for (const Linear::Part& part : fact.expression.parts()) {
        add(part.coefficient);
        add(static_cast<std::int64_t>(part.monomial.degree()));
        for (std::size_t k = 0; k < part.monomial.degree(); ++k) add(part.monomial.symbol(k));
      }
    }
  }
  const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  void add(Symbol symbol) {
    const auto at = std::find(names_.begin(), names_.end(), symbol);
    add(at - names_.begin());
    if (at == names_.end()) names_.push_back(symbol);
  }

  std::vector<std::int64_t> numbers_;
  std::vector<Symbol> names_;
};

/// A context of Z3: megabytes, and milliseconds to make.
struct Z3Context {
  z3::context z3;
  int sessions = 0;  ///< That have used it: some of what they leave stays in its memory.
  bool has_failed = false;
};

/// Contexts that no session uses. Thread-safe.
class Z3Contexts {
 public:
  std::unique_ptr<Z3Context> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto last = std::move(idle_.back());
        idle_.pop_back();
        return last;
      }
    }
    return std::make_unique<Z3Context>();
  }
  void give_back(std::unique_ptr<Z3Context> context) {
    if (++context->sessions == kMostSessions || context->has_failed) return;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMostIdle) idle_.push_back(std::move(context));
  }

 private:
  static constexpr int kMostSessions = 100;
  static constexpr std::size_t kMostIdle = 4;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Z3Context>> idle_;
};

/// Never destroyed: Z3 may be gone before it would be.
Z3Contexts& z3_contexts() {
  static auto* const kContexts = new Z3Contexts();
  return *kContexts;
}

/// A context with a solver of its own.
class Z3Session {
 public:
  explicit Z3Session(unsigned most_steps) : solver_(context_, z3::solver::simple()) {
    z3::params parameters(context_);
    parameters.set("rlimit", most_steps);
    // Else Z3 puts a handler of its own in the place of ours while it solves, and dies in it.
    parameters.set("ctrl_c", false);
    solver_.set(parameters);
  }

  z3::expr no_facts() { return context_.bool_val(true); }

  z3::expr formula(const Fact& fact) {
    z3::expr sum = context_.int_val(fact.expression.constant());
    for (const Linear::Part& part : fact.expression.parts()) {
      sum = sum + context_.int_val(part.coefficient) * unknown(part.monomial);
    }
    return fact.kind == Fact::Kind::kZero ? sum == 0 : sum >= 0;
  }

  z3::expr all_of(std::span<const Fact> facts) {
    z3::expr_vector formulas(context_);
    for (const Fact& fact : facts) formulas.push_back(formula(fact));
    return z3::mk_and(formulas);
  }

  z3::expr any_of(std::span<const FactSet> sets) {
    z3::expr_vector formulas(context_);
    for (const FactSet& facts : sets) formulas.push_back(all_of(facts));
    return z3::mk_or(formulas);
  }

  z3::expr is_not_zero(std::span<const WeightedGuards> sum) {
    z3::expr total = context_.int_val(0);
    for (const WeightedGuards& part : sum) {
      total =
          total + z3::ite(all_of(part.guards), context_.int_val(part.weight), context_.int_val(0));
    }
    return total != 0;
  }

  z3::check_result check(std::span<const Fact> facts, const z3::expr& and_this) {
    solver_.push();
    for (const Fact& fact : facts) solver_.add(formula(fact));
    solver_.add(and_this);
    const z3::check_result result = checked();
    solver_.pop();
    return result;
  }

 private:
  /// Lack of memory is what it is everywhere else.
  z3::check_result checked() {
    try {
      return solver_.check();
    } catch (const z3::exception&) {
      owned_->has_failed = true;
      if (Z3_get_error_code(context_) == Z3_MEMOUT_FAIL) throw std::bad_alloc();
      throw;
    }
  }

  z3::expr unknown(const Monomial& monomial) {
    const auto found = unknowns_.find(monomial);
    if (found != unknowns_.end()) return found->second;
    const std::string name = "x" + std::to_string(unknowns_.size());
    return unknowns_.emplace(monomial, context_.int_const(name.c_str())).first->second;
  }

  struct GiveBack {
    void operator()(Z3Context* context) const {
      z3_contexts().give_back(std::unique_ptr<Z3Context>(context));
    }
  };
  // First, so it is the last to go: what follows lives in it.
  std::unique_ptr<Z3Context, GiveBack> owned_{z3_contexts().take().release()};
  z3::context& context_ = owned_->z3;
  z3::solver solver_;
  std::map<Monomial, z3::expr> unknowns_;
};

class Z3Solver final : public Solver {
 public:
  Z3Solver(unsigned most_steps, std::shared_ptr<SolverAnswers> answers)
      : most_steps_(most_steps), answers_(std::move(answers)) {}

  bool proves_impossible(std::span<const Fact> facts) override {
    Anonymous question(Anonymous::Kind::kImpossible);
    question.add(facts);
    return proves(question, facts, [](Z3Session& z3) { return z3.no_facts(); });
  }

  bool proves_zero(std::span<const Fact> facts, std::span<const WeightedGuards> sum) override {
    Anonymous question(Anonymous::Kind::kZero);
    question.add(facts);
    for (const WeightedGuards& part : sum) {
      question.add(part.weight);
      question.add(part.guards);
    }
    return proves(question, facts, [&](Z3Session& z3) { return z3.is_not_zero(sum); });
  }

  bool proves_same_union(std::span<const Fact> facts, std::span<const FactSet> a,
                         std::span<const FactSet> b) override {
    Anonymous question(Anonymous::Kind::kSameUnion);
    question.add(facts);
    for (const std::span<const FactSet> side : {a, b}) {
      question.add(std::ssize(side));
      for (const FactSet& guards : side) question.add(guards);
    }
    return proves(question, facts, [&](Z3Session& z3) { return z3.any_of(a) != z3.any_of(b); });
  }

 private:
  /// Are the facts and what is said beside them a contradiction? Proofs of one rule set ask the
  /// same thing again and again, so answers are kept.
  template <class Said>
  bool proves(const Anonymous& question, std::span<const Fact> facts, Said said) {
    if (const auto known = answers_->find(question.numbers())) return *known;
    // Many proofs fail before anything is asked.
    if (!session_) session_.emplace(most_steps_);
    const z3::check_result result = session_->check(facts, said(*session_));
    if (result != z3::unknown) answers_->insert(question.numbers(), result == z3::unsat);
    return result == z3::unsat;
  }

  unsigned most_steps_;
  std::shared_ptr<SolverAnswers> answers_;
  std::optional<Z3Session> session_;
};

}  // namespace

std::size_t SolverAnswers::Hash::operator()(const Question& question) const {
  std::uint64_t hash = question.size();
  for (std::int64_t value : question) {
    hash = core::hash_combine(hash, static_cast<std::uint64_t>(value));
  }
  return hash;
}

std::optional<bool> SolverAnswers::find(const Question& question) const {
  const std::shared_lock lock(mutex_);
  const auto known = known_.find(question);
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

void SolverAnswers::insert(const Question& question, bool answer) {
  constexpr std::size_t kMostAnswers = 200'000;
  const std::unique_lock lock(mutex_);
  if (known_.size() < kMostAnswers) known_.emplace(question, answer);
}

std::unique_ptr<Solver> make_z3_solver(unsigned most_steps,
                                       std::shared_ptr<SolverAnswers> answers) {
  if (!answers) answers = std::make_shared<SolverAnswers>();
  return std::make_unique<Z3Solver>(most_steps, std::move(answers));
}

std::string z3_version() {
  unsigned major = 0, minor = 0, build = 0, revision = 0;
  Z3_get_version(&major, &minor, &build, &revision);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(build);
}

}  // namespace soapstone::verifier
