// Threads take instances in their order. What a thread leaves out, because an earlier instance has
// settled the matter, is never looked at when the verdicts are put together: so they do not depend
// on who was faster.
#include "verifier/batch.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <thread>

#include "core/base/clock.h"
#include "rules/rule/constraints.h"
#include "rules/rule/families.h"
#include "verifier/proof/float_types.h"
#include "verifier/proof/real_parameters.h"
#include "verifier/proof/unwritten_guard.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::verifier {
namespace {

using rules::Rule;

std::vector<std::string> texts_of(const std::vector<ops::SizeConstraint>& constraints,
                                  const Rule& rule) {
  std::vector<std::string> texts;
  for (const ops::SizeConstraint& c : constraints)
    texts.push_back(rules::to_string(c, rule.source.symbols()));
  return texts;
}

void add_values(NamedValues values, std::vector<NamedValues>& known) {
  if (std::ranges::find(known, values) == known.end()) known.push_back(std::move(values));
}

/// `n = 1`, `n = m` for n − 1, n − m.
std::string equation_text(const core::Polynomial& zero, const Rule& rule) {
  const core::Symbol first = zero.terms()[0].monomial[0];
  return core::Polynomial(first).to_string(rule.source.symbols()) + " = " +
         (core::Polynomial(first) - zero).to_string(rule.source.symbols());
}

/// One instance, looked at by one thread. Writes into a RuleVerdict of its own.
class Examination {
 public:
  Examination(const Rule& rule, const BatchOptions& options, const SecondLook& second_look,
              Solver& solver)
      : rule_(rule), options_(options), second_look_(second_look), solver_(solver) {}

  RuleVerdict run(int sizes, int edge_tries) {
    const double before = core::thread_cpu_ms();
    verdict_.rule = rule_.base_name;
    verdict_.file = rule_.file;
    verdict_.line = rule_.line;
    verdict_.instance = rule_.name;
    try {
      look(sizes, edge_tries);
    } catch (const std::bad_alloc&) {
      unknown("out of memory; --max-memory allows more");
    } catch (const std::exception& failure) {  // of the solver
      unknown(failure.what());
    }
    if (!verdict_.disagreement.empty())
      unknown("proved, but " + verdict_.disagreement + ": believe neither");
    verdict_.cpu_ms = core::thread_cpu_ms() - before - edges_ms_;
    return std::move(verdict_);
  }

 private:
  void unknown(std::string reason) {
    verdict_.kind = VerdictKind::kUnknown;
    verdict_.reason = std::move(reason);
  }

  void look(int sizes, int edge_tries) {
    // Sizes that nothing satisfies would prove everything: there must be some to look at.
    const auto report = rules::check(rule_, sizes, options_.check_seed);
    if (!report) {
      unknown(report.error().message);
      verdict_.instances = 1;
      return;
    }
    verdict_.check_sizes = report->sizes_tried;
    verdict_.law_of_function = report->law_of_function;
    // How roundings differ is proved; that one side overflows is seen.
    if (report->floats >= rules::FloatBehavior::kExtendsRange) verdict_.floats = report->floats;
    verdict_.kind = VerdictKind::kProved;
    if (options_.proves) {
      prove();
    } else {
      verdict_.floats = std::max(verdict_.floats, rule_.floats);
      verdict_.types = rule_.types;
    }
    if (report->counterexample) compare(*report->counterexample);
    if (verdict_.kind != VerdictKind::kRefuted) try_edges(edge_tries);
  }

  /// Little is to be found in rules that keep every bit.
  void try_edges(int edge_tries) {
    if (edge_tries == 0) return;
    constexpr int kSizesTried = 4, kShareOfExact = 8;
    const bool exact =
        verdict_.kind == VerdictKind::kProved && verdict_.floats == rules::FloatBehavior::kExact;
    const int tries = exact ? edge_tries / kShareOfExact : edge_tries;
    const double before = core::thread_cpu_ms();
    const auto report = rules::check(rule_, kSizesTried, options_.check_seed, tries);
    edges_ms_ = core::thread_cpu_ms() - before;
    if (!report) return;
    verdict_.edges = report->edges;
    verdict_.floats =
        std::max(verdict_.floats, range_behavior(report->edges, core::DataType::kFloat32));
  }

  /// The rule for one value of its parameters after the other, up to one that is not proved.
  void prove() {
    const auto grid = parameter_grid(rule_, options_.specializations);
    if (grid.empty()) unknown("no values of the parameters were found");
    for (const rules::Bindings& values : grid) {
      ++verdict_.instances;
      auto special = rules::specialize(rule_, values);
      if (!special) return unknown(special.error().message);
      prove(*special);
      if (verdict_.kind == VerdictKind::kProved && verdict_.disagreement.empty()) {
        note_values(values);
        continue;
      }
      if (!rule_.parameters.empty()) verdict_.instance += " with " + parameter_text(rule_, values);
      return;
    }
    // With parameters, the rest of a guard is in numbers that the values chose.
    verdict_.guard = texts_of(rule_.guard, rule_);
  }

  /// A proof for one stride or epsilon says nothing of another one. Of real numbers there may be a
  /// proof for all at once.
  void note_values(const rules::Bindings& values) {
    const bool for_all_reals =
        rule_.real_parameters.empty() ||
        attempt_proof_for_all_reals(rule_, values, solver_, options_.verify).empty();
    std::vector<core::Symbol> proved_at = rule_.parameters;
    if (for_all_reals)
      std::erase_if(proved_at, [&](core::Symbol s) {
        return std::ranges::find(rule_.real_parameters, s) != rule_.real_parameters.end();
      });
    if (proved_at.empty()) return;
    add_values(named_values(rule_, proved_at, values), verdict_.only_values);
  }

  void prove(const Rule& special) {
    Verdict result = verify(special, solver_, options_.verify);
    verdict_.kind = result.kind;
    verdict_.reason = std::move(result.reason);
    verdict_.refutation = std::move(result.refutation);
    verdict_.saving_guard = texts_of(result.saving_guard, special);
    if (result.kind != VerdictKind::kProved || refuse_unwritten(special)) return;
    verdict_.floats = std::max(verdict_.floats, result.floats);
    verdict_.types = verdict_.types & proved_types(special, solver_, options_.verify);
    if (result.record) verdict_.proofs.push_back({special, *result.record});
    if (!second_look_) return;
    SecondLookResult look = second_look_(special);
    verdict_.second_sizes += look.sizes;
    if (verdict_.disagreement.empty()) verdict_.disagreement = std::move(look.disagreement);
  }

  /// A proof for trivial sizes alone is none of what the author wrote. Files of other systems,
  /// which have no lines, give no sizes at all.
  bool refuse_unwritten(const Rule& special) {
    if (rule_.line == 0) return false;
    const auto equations = unwritten_equations(special, solver_);
    if (equations.empty()) return false;
    verdict_.kind = VerdictKind::kRefuted;
    std::string all;
    for (const ops::SizeConstraint& equation : equations) {
      verdict_.saving_guard.push_back(equation_text(equation.expression, special));
      all += (all.empty() ? "" : ", ") + verdict_.saving_guard.back();
    }
    Refutation refutation;
    refutation.sizes = sizes_beyond_guard(special, options_.check_seed);
    refutation.text = "it holds only where " + all + "; write `where " + all + "` if that is meant";
    verdict_.refutation = std::move(refutation);
    return true;
  }

  /// The numbers found a difference: the prover may have missed it, but not proved the contrary.
  void compare(const rules::Counterexample& example) {
    if (verdict_.kind == VerdictKind::kProved) {
      verdict_.disagreement = "the two sides differ: " + example.text;
      for (const auto& [name, value] : example.sizes)
        verdict_.disagreement += ", " + name + " = " + std::to_string(value);
    } else if (verdict_.kind == VerdictKind::kUnknown) {
      verdict_.kind = VerdictKind::kRefuted;
      Refutation refutation;
      refutation.sizes = example.sizes;
      refutation.text = example.text;
      verdict_.refutation = std::move(refutation);
    }
  }

  const Rule& rule_;
  const BatchOptions& options_;
  const SecondLook& second_look_;
  Solver& solver_;
  RuleVerdict verdict_;
  double edges_ms_ = 0;
};

class Batch {
 public:
  Batch(std::span<const Rule> rules, const BatchOptions& options, core::ProgressSink& progress,
        const core::StopToken& stop)
      : rules_(rules), options_(options), progress_(progress), stop_(stop),
        families_(rules::families(rules)), family_of_(rules.size()),
        refuted_(std::make_unique<std::atomic<std::size_t>[]>(families_.size())),
        results_(rules.size()) {
    options_.verify.stopped = [&stop] { return stop.stop_requested(); };
    for (std::size_t f = 0; f < families_.size(); ++f) {
      refuted_[f] = rules.size();
      for (const Rule& rule : families_[f]) family_of_[index_of(rule)] = f;
    }
  }

  std::vector<RuleVerdict> run() {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const std::size_t wanted = options_.jobs > 0 ? static_cast<std::size_t>(options_.jobs) : cores;
    {
      std::vector<std::jthread> threads;
      for (std::size_t k = 1; k < std::min(wanted, rules_.size()); ++k)
        threads.emplace_back([this] { work(); });
      work();
    }
    std::vector<RuleVerdict> verdicts;
    for (const Family family : families_) {
      auto verdict = combined(family);
      if (!verdict) continue;
      verdicts.push_back(*std::move(verdict));
    }
    return verdicts;
  }

 private:
  using Family = std::span<const Rule>;

  std::size_t index_of(const Rule& rule) const {
    return static_cast<std::size_t>(&rule - rules_.data());
  }

  void work() {
    const SecondLook second_look =
        options_.make_second_look ? options_.make_second_look() : SecondLook();
    const std::unique_ptr<Solver> solver = make_z3_solver(kMostSteps, answers_);
    while (!stop_.stop_requested()) {
      const std::size_t k = next_++;
      if (k >= rules_.size()) return;
      const std::size_t family = family_of_[k];
      progress_.update(k, rules_.size(), rules_[k].base_name);
      if (refuted_[family] < k) continue;
      const auto count = static_cast<int>(families_[family].size());
      constexpr int kLeastSizes = 20, kLeastEdgeTries = 64;
      const int sizes = std::max((options_.check_sizes + count - 1) / count,
                                 std::min(kLeastSizes, options_.check_sizes));
      const int tries = std::max((options_.edge_tries + count - 1) / count,
                                 std::min(kLeastEdgeTries, options_.edge_tries));
      RuleVerdict verdict =
          Examination(rules_[k], options_, second_look, *solver).run(sizes, tries);
      if (stop_.stop_requested()) return;  // a verdict that may be half of one
      if (verdict.kind == VerdictKind::kRefuted) note_refuted(family, k, verdict);
      results_[k] = std::move(verdict);
    }
  }

  void note_refuted(std::size_t family, std::size_t k, RuleVerdict& verdict) {
    std::size_t earliest = refuted_[family];
    while (k < earliest && !refuted_[family].compare_exchange_weak(earliest, k)) {
    }
    // Only the first is shown; inputs of the others would fill the memory.
    if (earliest < k) verdict.refutation.reset();
  }

  /// None: it was not finished.
  std::optional<RuleVerdict> combined(Family family) {
    RuleVerdict all;
    for (const Rule& rule : family) {
      std::optional<RuleVerdict>& one = results_[index_of(rule)];
      if (!one) return std::nullopt;
      if (&rule == &family.front()) {
        all = *std::move(one);
      } else {
        add(*std::move(one), all);
      }
      if (all.kind == VerdictKind::kRefuted || !all.disagreement.empty()) return all;
    }
    if (all.kind == VerdictKind::kProved) all.instance.clear();
    return all;
  }

  static void add(RuleVerdict&& one, RuleVerdict& all) {
    all.instances += one.instances;
    all.check_sizes += one.check_sizes;
    all.second_sizes += one.second_sizes;
    all.cpu_ms += one.cpu_ms;
    all.law_of_function = all.law_of_function || one.law_of_function;
    all.floats = std::max(all.floats, one.floats);
    all.types = all.types & one.types;
    all.edges.note(one.edges);
    std::ranges::move(one.proofs, std::back_inserter(all.proofs));
    for (NamedValues& values : one.only_values) add_values(std::move(values), all.only_values);
    for (std::string& condition : one.guard)
      if (std::ranges::find(all.guard, condition) == all.guard.end())
        all.guard.push_back(std::move(condition));
    all.disagreement = std::move(one.disagreement);
    const bool decides = one.kind == VerdictKind::kRefuted || all.kind == VerdictKind::kProved ||
                         !all.disagreement.empty();
    if (!decides) return;
    all.kind = one.kind;
    all.instance = std::move(one.instance);
    all.reason = std::move(one.reason);
    all.refutation = std::move(one.refutation);
    all.saving_guard = std::move(one.saving_guard);
  }

  std::span<const Rule> rules_;
  BatchOptions options_;
  core::ProgressSink& progress_;
  const core::StopToken& stop_;
  std::vector<Family> families_;
  std::vector<std::size_t> family_of_;  ///< By rule.
  /// By family: its first instance known to be refuted.
  std::unique_ptr<std::atomic<std::size_t>[]> refuted_;
  std::vector<std::optional<RuleVerdict>> results_;  ///< By rule.
  std::shared_ptr<SolverAnswers> answers_ = std::make_shared<SolverAnswers>();
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

std::vector<RuleVerdict> verify_all(std::span<const Rule> rules, const BatchOptions& options,
                                    core::ProgressSink& progress, const core::StopToken& stop) {
  return Batch(rules, options, progress, stop).run();
}

}  // namespace soapstone::verifier
