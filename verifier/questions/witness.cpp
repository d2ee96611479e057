// Symbols that a guess makes are given back when it is over: those of the proof are then numbered
// alike whether bijections are guessed or replayed, and so are the hashes.
#include "verifier/questions/witness.h"

#include <algorithm>

#include "core/base/hash.h"
#include "verifier/integers/farkas.h"
#include "verifier/integers/fourier_motzkin.h"
#include "verifier/questions/guesser.h"

namespace soapstone::verifier {

std::uint64_t Witness::key(std::span<const Fact> facts) {
  std::uint64_t key = facts.size();
  for (const Fact& fact : facts) key = core::hash_combine(key, fact.hash());
  return key;
}

bool Witness::is_impossible(std::span<const Fact> facts) {
  if (is_replay_) return record_.impossible.contains(key(facts));
  const bool impossible = fourier_motzkin(facts) == Feasibility::kImpossible;
  if (impossible) record_.impossible.insert(key(facts));
  return impossible;
}

bool Witness::is_contradiction(std::span<const Fact> facts, std::vector<Fact>& used) {
  if (is_replay_) {
    used.assign(facts.begin(), facts.end());
    return record_.impossible.contains(key(facts));
  }
  used = contradictory_part(facts);
  if (used.empty() || fourier_motzkin(used) != Feasibility::kImpossible) return false;
  record_.impossible.insert(key(facts));
  return true;
}

namespace {

/// Gives back the fresh symbols of a guess, also where the budget ends it.
class GuessedSymbols {
 public:
  explicit GuessedSymbols(Arena& arena) : arena_(arena), mark_(arena.fresh_mark()) {}
  ~GuessedSymbols() { arena_.release_fresh(mark_); }
  GuessedSymbols(const GuessedSymbols&) = delete;
  GuessedSymbols& operator=(const GuessedSymbols&) = delete;

 private:
  Arena& arena_;
  std::uint32_t mark_;
};

}  // namespace

bool Witness::for_each_bijection(Arena& arena, Budget& budget, const Summand& a, const Summand& b,
                                 const Accept& accept) {
  const std::uint64_t key = core::hash_combine(Arena::hash(a), Arena::hash(b));
  const GuessedSymbols symbols(arena);
  bool done = false;
  if (is_replay_) {
    const auto known = record_.bijections.find(key);
    done = known != record_.bijections.end() &&
           std::any_of(known->second.begin(), known->second.end(),
                       [&](const Substitution& each) { return accept(each) == Reply::kDone; });
  } else {
    done = guess_binders(arena, budget, a, b, [&](const Substitution& bijection) {
      const Reply reply = accept(bijection);
      if (reply == Reply::kRejected) return false;
      std::vector<Substitution>& known = record_.bijections[key];
      if (std::find(known.begin(), known.end(), bijection) == known.end()) {
        known.push_back(bijection);
      }
      return reply == Reply::kDone;
    });
  }
  return done;
}

}  // namespace soapstone::verifier
