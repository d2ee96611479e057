// Unification by continuation: each choice calls the rest of the work, which says whether to stop.
#include "verifier/questions/guesser.h"

#include <algorithm>
#include <optional>
#include <set>

namespace soapstone::verifier {
namespace {

constexpr int kMaxGuesses = 40;
constexpr int kMaxOrders = 24;
constexpr int kMaxMatches = 2000;  // of atoms, which nested sums match in exponentially many ways

/// The unknowns found so far.
struct State {
  Substitution solved;
  std::vector<Symbol> unknown;
  std::vector<Linear> pending;  ///< = 0, with more than one unknown.
};
using Continue = std::function<bool(const State&)>;

class Unifier {
 public:
  Unifier(Arena& arena, Budget& budget, bool strict)
      : arena_(arena), budget_(budget), strict_(strict) {}

  bool factors(const std::vector<Factor>& a, const std::vector<Factor>& b, std::size_t at,
               std::vector<bool>& used, const State& state, const Continue& next) {
    if (at == b.size()) return next(state);
    for (std::size_t k = 0; k < a.size() && matches_ < kMaxMatches; ++k) {
      if (used[k] || a[k].exponent != b[at].exponent ||
          a[k].atom->signature != b[at].atom->signature) {
        continue;
      }
      used[k] = true;
      ++matches_;
      budget_.try_pair();
      const bool stop = atom(*a[k].atom, *b[at].atom, state, [&](const State& then) {
        return factors(a, b, at + 1, used, then, next);
      });
      used[k] = false;
      if (stop) return true;
    }
    return false;
  }

 private:
  std::optional<State> solve(const State& state, std::vector<Linear> equations) const;
  bool atom(const Atom& a, const Atom& b, const State& state, const Continue& next);
  bool forms(std::span<const Form* const> a, std::span<const Form* const> b, const State& state,
             const Continue& next);
  bool form(const Form& a, const Form& b, const State& state, const Continue& next);
  bool maximum(const Atom& a, const Atom& b, const State& state, const Continue& next);
  bool mentions_unknown(const std::vector<Symbol>& symbols, const State& state) const {
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](Symbol symbol) { return has(state.unknown, symbol); });
  }

  Arena& arena_;
  Budget& budget_;
  bool strict_;  ///< Equations without unknowns must hold as they stand; else the context may help.
  int matches_ = 0;
};

std::optional<State> Unifier::solve(const State& state, std::vector<Linear> equations) const {
  State result = state;
  equations.insert(equations.begin(), state.pending.begin(), state.pending.end());
  result.pending.clear();
  for (bool progress = true; progress;) {
    progress = false;
    std::vector<Linear> left;
    for (const Linear& equation : equations) {
      const Linear e = equation.substitute(result.solved);
      std::vector<Symbol> symbols;
      e.append_symbols(symbols);
      std::erase_if(symbols, [&](Symbol symbol) { return !has(result.unknown, symbol); });
      std::sort(symbols.begin(), symbols.end());
      symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
      if (symbols.empty()) {
        if (!(e == Linear(0)) && (strict_ || e.is_constant())) return std::nullopt;
        continue;
      }
      const Symbol v = symbols[0];
      if (symbols.size() > 1 || !e.is_linear_in(v)) {
        left.push_back(e);
        continue;
      }
      const std::int64_t k = e.coefficient(v);
      const Linear rest = e - Linear(v).scaled(k);
      const bool divisible =
          rest.constant() % k == 0 &&
          std::all_of(rest.parts().begin(), rest.parts().end(),
                      [&](const Linear::Part& part) { return part.coefficient % k == 0; });
      if (!divisible) {
        if (rest.is_constant()) return std::nullopt;
        left.push_back(e);
        continue;
      }
      const Linear value = -rest.divided(k);
      for (auto& [name, old] : result.solved) old = old.substitute({{v, value}});
      result.solved.emplace_back(v, value);
      std::erase(result.unknown, v);
      progress = true;
    }
    equations = std::move(left);
  }
  result.pending = std::move(equations);
  return result;
}

bool Unifier::atom(const Atom& a, const Atom& b, const State& state, const Continue& next) {
  switch (a.kind) {
  case AtomKind::kRead:
  case AtomKind::kIndex: {
    if (a.index.size() != b.index.size()) return false;
    std::vector<Linear> equations;
    for (std::size_t k = 0; k < a.index.size(); ++k) {
      equations.push_back(a.index[k] - b.index[k]);
    }
    const auto solved = solve(state, std::move(equations));
    return solved && next(*solved);
  }
  case AtomKind::kNumber:
    return a.number == b.number && next(state);
  case AtomKind::kApply:
  case AtomKind::kReciprocal:
  case AtomKind::kRounded:
  case AtomKind::kWrapped:
    return forms(a.arguments, b.arguments, state, next);
  case AtomKind::kMax:
    return maximum(a, b, state, next);
  }
  return false;
}

bool Unifier::forms(std::span<const Form* const> a, std::span<const Form* const> b,
                    const State& state, const Continue& next) {
  if (a.size() != b.size()) return false;
  if (a.empty()) return next(state);
  return form(*a[0], *b[0], state,
              [&](const State& then) { return forms(a.subspan(1), b.subspan(1), then, next); });
}

/// One summand with unknowns is enough to bind them; the checker compares the rest.
bool Unifier::form(const Form& a, const Form& b, const State& state, const Continue& next) {
  const auto open = std::find_if(b.summands.begin(), b.summands.end(), [&](const Summand& summand) {
    return mentions_unknown(Arena::free_symbols(summand), state);
  });
  if (open == b.summands.end()) return next(state);
  const std::uint64_t signature = Arena::signature(*open);
  for (const Summand& summand : a.summands) {
    if (Arena::signature(summand) != signature) continue;
    budget_.try_pair();
    const Summand fresh = arena_.refreshed(*open);
    State inside = state;
    inside.unknown.insert(inside.unknown.end(), fresh.binders.begin(), fresh.binders.end());
    std::vector<bool> used(summand.factors.size());
    if (factors(summand.factors, fresh.factors, 0, used, inside, next)) return true;
  }
  return false;
}

bool Unifier::maximum(const Atom& a, const Atom& b, const State& state, const Continue& next) {
  if (!mentions_unknown(b.free_symbols, state) || b.pieces.empty()) return next(state);
  const Piece wanted = arena_.refreshed(b.pieces[0]);
  for (const Piece& piece : a.pieces) {
    if (piece.binders.size() != wanted.binders.size()) continue;
    budget_.try_pair();
    State inside = state;
    inside.unknown.insert(inside.unknown.end(), wanted.binders.begin(), wanted.binders.end());
    if (form(*piece.body, *wanted.body, inside, next)) return true;
  }
  return false;
}

/// Completes partial solutions and passes them on.
class Proposer {
 public:
  Proposer(const Summand& a, const Summand& b, const std::vector<Symbol>& names,
           const std::function<bool(const Substitution&)>& accept)
      : a_(a), b_(b), names_(names), accept_(accept) {}

  bool propose(const State& state) {
    Substitution known;
    std::vector<Symbol> open;
    for (Symbol name : names_) {
      const auto found = std::find_if(state.solved.begin(), state.solved.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      const bool settled = found != state.solved.end() && !mentions_unknown(found->second, state);
      if (settled) {
        known.push_back(*found);
      } else {
        open.push_back(name);
      }
    }
    std::vector<Symbol> left;
    for (Symbol binder : a_.binders) {
      const bool taken = std::any_of(known.begin(), known.end(), [&](const auto& entry) {
        return entry.second.mentions(binder);
      });
      if (!taken) left.push_back(binder);
    }
    if (left.size() < open.size()) return false;
    std::sort(left.begin(), left.end());
    int orders = 0;
    do {
      Substitution full = known;
      for (std::size_t k = 0; k < open.size(); ++k) full.emplace_back(open[k], Linear(left[k]));
      if (finish(full, state)) return true;
      if (guesses_ >= kMaxGuesses) return false;
    } while (!open.empty() && ++orders < kMaxOrders &&
             std::next_permutation(left.begin(), left.end()));
    return false;
  }

 private:
  bool mentions_unknown(const Linear& value, const State& state) const {
    std::vector<Symbol> symbols;
    value.append_symbols(symbols);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](Symbol symbol) { return has(state.unknown, symbol); });
  }

  bool finish(const Substitution& full, const State& state) {
    for (const Linear& equation : state.pending) {
      const Linear rest = equation.substitute(full);
      if (!(rest == Linear(0)) && !mentions_unknown(rest, state)) return false;
    }
    Substitution result;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const auto found = std::find_if(full.begin(), full.end(),
                                      [&](const auto& entry) { return entry.first == names_[k]; });
      if (found == full.end()) return false;
      result.emplace_back(b_.binders[k], found->second);
    }
    if (std::find(seen_.begin(), seen_.end(), result) != seen_.end()) return false;
    seen_.push_back(result);
    ++guesses_;
    return accept_(result);
  }

  const Summand& a_;
  const Summand& b_;
  const std::vector<Symbol>& names_;
  const std::function<bool(const Substitution&)>& accept_;
  std::vector<Substitution> seen_;
  int guesses_ = 0;
};

}  // namespace

bool guess_binders(Arena& arena, Budget& budget, const Summand& a, const Summand& b,
                   const std::function<bool(const Substitution&)>& accept) {
  if (a.binders.size() != b.binders.size()) return false;
  const Summand renamed = arena.refreshed(b);
  std::vector<Factor> wanted = renamed.factors;
  const auto rank = [&](const Factor& factor) {
    const auto partners = std::count_if(a.factors.begin(), a.factors.end(), [&](const Factor& x) {
      return x.atom->signature == factor.atom->signature;
    });
    return std::pair(factor.atom->kind != AtomKind::kRead, partners);
  };
  std::stable_sort(wanted.begin(), wanted.end(),
                   [&](const Factor& x, const Factor& y) { return rank(x) < rank(y); });
  Proposer proposer(a, b, renamed.binders, accept);
  for (const bool strict : {true, false}) {
    Unifier unifier(arena, budget, strict);
    std::vector<bool> used(a.factors.size());
    const State start{{}, renamed.binders, {}};
    const bool found = unifier.factors(a.factors, wanted, 0, used, start,
                                       [&](const State& state) { return proposer.propose(state); });
    if (found) return true;
  }
  return false;
}

}  // namespace soapstone::verifier
