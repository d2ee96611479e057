// See mutation_score.h. Threads draw mutants in turn and keep what they find by number.
#include "verifier/mutation/mutation_score.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "core/base/clock.h"
#include "rules/floats/typed_check.h"
#include "verifier/mutation/witness_search.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

constexpr std::size_t kNotesKept = 10;

double cpu_s() { return 1e-3 * core::thread_cpu_ms(); }

/// Makes the solver at the first question: most attempts ask none. A new one for each attempt, so
/// that no answer depends on which attempts a thread has made before.
class LazySolver final : public Solver {
 public:
  bool proves_impossible(std::span<const Fact> facts) override {
    return solver().proves_impossible(facts);
  }
  bool proves_zero(std::span<const Fact> facts, std::span<const WeightedGuards> sum) override {
    return solver().proves_zero(facts, sum);
  }
  bool proves_same_union(std::span<const Fact> facts, std::span<const FactSet> a,
                         std::span<const FactSet> b) override {
    return solver().proves_same_union(facts, a, b);
  }

 private:
  Solver& solver() {
    if (!solver_) solver_ = make_z3_solver();
    return *solver_;
  }
  std::unique_ptr<Solver> solver_;
};

std::string failure_of_proof(const rules::Rule& rule, const ScoreOptions& options) {
  LazySolver solver;
  VerifyOptions verify_options;
  verify_options.max_steps = options.max_steps;
  return attempt_proof(rule, solver, verify_options);
}

/// One side has no value in the example, which is just what the proof says of the rule.
bool is_told_by_label(const rules::Rule& rule, const Refutation& example,
                      const ScoreOptions& options) {
  if (std::isfinite(example.source) && std::isfinite(example.target)) return false;
  // No label tells that a target rejects inputs that its source admits.
  if (rules::needs_types(rule)) return false;
  LazySolver solver;
  VerifyOptions verify_options;
  verify_options.max_steps = options.max_steps;
  const Verdict verdict = verify(rule, solver, verify_options);
  return verdict.kind == VerdictKind::kProved &&
         verdict.floats >= rules::FloatBehavior::kExtendsRange;
}

struct Outcome {
  std::vector<MutationKind> kinds;
  bool proved = false, refuted = false, missed = false;
  MutationNote note;
  double refute_s = 0, search_s = 0;

  bool wrong() const { return refuted || missed; }
};

Outcome judge(const Mutant& mutant, const ScoreOptions& options) {
  Outcome outcome;
  outcome.kinds = mutant.kinds;
  outcome.note.what = mutant.rule.name + ": " + mutant.what;
  const double start = cpu_s();
  outcome.note.detail = failure_of_proof(mutant.rule, options);
  outcome.proved = outcome.note.detail.empty();
  const double proof_end = cpu_s();
  outcome.note.proof_ms = 1e3 * (proof_end - start);
  outcome.refuted = is_refuted(mutant.rule, options.refutation_sizes, options.seed);
  const double refute_end = cpu_s();
  outcome.refute_s = refute_end - proof_end;
  if (!outcome.refuted)
    outcome.missed = has_witness(
        mutant.rule, outcome.proved ? options.proved_witness_sizes : options.witness_sizes,
        options.seed + 1);
  outcome.search_s = cpu_s() - refute_end;
  if (outcome.proved && outcome.refuted)
    if (const auto example = refute(mutant.rule, options.refutation_sizes, options.seed)) {
      outcome.note.detail = example->text;
      outcome.refuted = !is_told_by_label(mutant.rule, *example, options);
    }
  outcome.note.text = rules::print(mutant.rule);
  return outcome;
}

void count(const Outcome& outcome, MutationCounts& counts) {
  ++counts.made;
  counts.refuted += outcome.refuted ? 1 : 0;
  counts.missed += outcome.missed ? 1 : 0;
  counts.wrong_proved += outcome.proved && outcome.wrong() ? 1 : 0;
  counts.equal += outcome.proved && !outcome.wrong() ? 1 : 0;
  counts.open += !outcome.proved && !outcome.wrong() ? 1 : 0;
}

void add(const Outcome& outcome, MutationScore& score) {
  count(outcome, score.total);
  for (std::size_t k = 0; k < outcome.kinds.size(); ++k)
    if (k == 0 || outcome.kinds[k] != outcome.kinds[0])
      count(outcome, score.by_kind[static_cast<std::size_t>(outcome.kinds[k])]);
  if (outcome.proved && outcome.wrong()) score.wrong_and_proved.push_back(outcome.note);
  if (outcome.missed && score.missed.size() < kNotesKept) score.missed.push_back(outcome.note);
  if (!outcome.proved && !outcome.wrong() && score.open.size() < kNotesKept)
    score.open.push_back(outcome.note);
  if (!outcome.proved) score.slowest_failures.push_back(outcome.note);
  score.proof_cpu_s += outcome.note.proof_ms / 1e3;
  score.refute_cpu_s += outcome.refute_s;
  score.search_cpu_s += outcome.search_s;
}

/// Runs `work(k)` for k < count on that many threads.
template <class Work>
void in_parallel(int jobs, Work work) {
  std::vector<std::jthread> threads;
  for (int j = 1; j < jobs; ++j) threads.emplace_back(work);
  work();
}

std::vector<rules::Rule> proved_ones(const std::vector<rules::Rule>& origins,
                                     const ScoreOptions& options, double& cpu) {
  std::vector<char> proved(origins.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  in_parallel(options.jobs, [&] {
    const double start = cpu_s();
    for (std::size_t k = next++; k < origins.size(); k = next++) {
      if (options.progress && !options.progress(0)) break;
      proved[k] = failure_of_proof(origins[k], options).empty() ? 1 : 0;
    }
    const std::lock_guard lock(mutex);
    cpu += cpu_s() - start;
  });
  std::vector<rules::Rule> kept;
  for (std::size_t k = 0; k < origins.size(); ++k)
    if (proved[k]) kept.push_back(origins[k]);
  return kept;
}

std::vector<Outcome> judge_all(Mutator& mutator, const ScoreOptions& options, double& making_s) {
  std::map<std::size_t, Outcome> outcomes;
  std::mutex drawing, keeping;
  std::size_t drawn = 0;
  in_parallel(options.jobs, [&] {
    while (true) {
      std::optional<Mutant> mutant;
      std::size_t number = 0;
      {
        const std::lock_guard lock(drawing);
        const double start = cpu_s();
        if (drawn < options.mutants && (!options.progress || options.progress(drawn)))
          mutant = mutator.next();
        if (!mutant)
          drawn = options.mutants;
        else
          number = drawn++;
        making_s += cpu_s() - start;
      }
      if (!mutant) return;
      Outcome outcome = judge(*mutant, options);
      const std::lock_guard lock(keeping);
      outcomes.emplace(number, std::move(outcome));
    }
  });
  std::vector<Outcome> all;
  for (auto& [number, outcome] : outcomes) all.push_back(std::move(outcome));
  return all;
}

}  // namespace

double MutationScore::share_refuted() const {
  if (total.wrong() == 0) return 1;
  return static_cast<double>(total.refuted) / static_cast<double>(total.wrong());
}

std::vector<rules::Rule> mutation_origins(const std::vector<rules::Rule>& rules,
                                          std::size_t per_rule, std::uint64_t seed) {
  std::map<std::string, std::vector<const rules::Rule*>> instances;
  for (const rules::Rule& rule : rules) instances[rule.base_name].push_back(&rule);
  std::vector<rules::Rule> origins;
  for (const auto& [name, list] : instances)
    for (std::size_t k = 0; k < per_rule; ++k) {
      // More values of the parameters where there are few instances.
      const rules::Rule& rule =
          *list[list.size() <= per_rule ? k % list.size() : k * list.size() / per_rule];
      if (rule.parameters.empty() && k >= list.size()) continue;
      const auto values = rules::sample_parameters(rule, seed + k);
      if (!values) continue;
      if (auto special = rules::specialize(rule, *values)) origins.push_back(*std::move(special));
    }
  return origins;
}

MutationScore score_mutants(const std::vector<rules::Rule>& origins, const ScoreOptions& options) {
  MutationScore score;
  score.origins = origins.size();
  std::vector<rules::Rule> proved = proved_ones(origins, options, score.origins_cpu_s);
  score.origins_proved = proved.size();
  if (proved.empty()) return score;
  Mutator mutator(std::move(proved), options.seed);
  for (const Outcome& outcome : judge_all(mutator, options, score.making_cpu_s))
    add(outcome, score);
  auto& slow = score.slowest_failures;
  std::ranges::stable_sort(slow, std::ranges::greater{}, &MutationNote::proof_ms);
  if (slow.size() > kNotesKept) slow.resize(kNotesKept);
  return score;
}

}  // namespace soapstone::verifier
