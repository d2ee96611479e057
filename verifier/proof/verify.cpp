// Proof first; where it fails, a search for a counterexample.
#include "verifier/proof/verify.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/clock.h"
#include "verifier/proof/attempt.h"
#include "verifier/proof/infinite_constants.h"
#include "verifier/proof/real_parameters.h"
#include "verifier/refutation/saving_guard.h"

namespace soapstone::verifier {
namespace {

constexpr int kFirstLook = 4;

/// Real numbers that are rounded to one type here and to another there.
bool mixes_float_types(const rules::Rule& rule) {
  std::optional<core::DataType> known;
  for (const core::Graph* side : {&rule.source, &rule.target}) {
    for (std::size_t k = 0; k < side->tensor_bound(); ++k) {
      if (!side->contains(core::TensorId(k))) continue;
      const core::DataType type = side->tensor(core::TensorId(k)).type.data_type;
      if (!core::is_floating(type)) continue;
      if (known.value_or(type) != type) return true;
      known = type;
    }
  }
  return false;
}

/// The float label of a proved rule: `exact` is proved too, on rounded results.
rules::FloatBehavior float_behavior(const rules::Rule& rule, const Attempt& proof, Solver& solver,
                                    const VerifyOptions& options) {
  const std::uint64_t steps = proof.steps();
  const bool mixes = mixes_float_types(rule);
  if (!proof.keeps_domain() && !mixes) return rules::FloatBehavior::kExtendsRange;
  // The same proof with fewer laws: if it takes much longer it leads nowhere.
  VerifyOptions bounded = options;
  bounded.max_steps = std::min(options.max_steps, 2 * steps + 500);
  Attempt exact(rule, solver, bounded, {}, true);
  if (!proof.has_expanded()) exact.do_without_expansion();
  if (proof.keeps_domain() && exact.run().empty()) return rules::FloatBehavior::kExact;
  return mixes ? rules::FloatBehavior::kChangesRange : rules::FloatBehavior::kReassociates;
}

/// What is proved in place of a rule.
struct Subject {
  rules::Rule rule;
  VerifyOptions options;
};

Subject subject_of(const rules::Rule& rule, const VerifyOptions& options) {
  const auto general = with_any_constants(rule);
  Subject subject{general ? *general : rule, options};
  auto unknown = with_unknown_numbers(subject.rule);
  if (!unknown) return subject;
  subject.rule = std::move(unknown->rule);
  std::ranges::copy(unknown->numbers, std::back_inserter(subject.options.unknown_numbers));
  return subject;
}

}  // namespace

std::string_view to_string(VerdictKind kind) {
  switch (kind) {
  case VerdictKind::kProved:
    return "proved";
  case VerdictKind::kRefuted:
    return "refuted";
  case VerdictKind::kUnknown:
    return "unknown";
  }
  return "";
}

std::string attempt_proof(const rules::Rule& rule, Solver& solver, const VerifyOptions& options) {
  const Subject subject = subject_of(rule, options);
  return Attempt(subject.rule, solver, subject.options).run();
}

std::string replay_proof(const rules::Rule& rule, const ProofRecord& record, Solver& solver) {
  const Subject subject = subject_of(rule, {.certify = true});
  return Attempt(subject.rule, solver, subject.options, Witness(record)).run();
}

Verdict verify(const rules::Rule& rule, Solver& solver, const VerifyOptions& options) {
  const double before = core::thread_cpu_ms();
  Verdict verdict;
  const Subject subject = subject_of(rule, options);
  std::optional<Attempt> attempt(std::in_place, subject.rule, solver, subject.options);
  verdict.reason = attempt->run(Attempt::Effort::kFirstWay);
  // A look at numbers costs less than the other ways when they lead nowhere too.
  const int first_look = std::min(options.refutation_sizes, kFirstLook);
  if (!verdict.reason.empty() && !is_refuted(rule, first_look, options.seed)) {
    attempt.emplace(subject.rule, solver, subject.options);
    verdict.reason = attempt->run();
  }
  if (verdict.reason.empty()) {
    verdict.kind = VerdictKind::kProved;
    if (options.keep_record) verdict.record = std::make_shared<ProofRecord>(attempt->record());
    verdict.floats = float_behavior(subject.rule, *attempt, solver, subject.options);
  } else if (verdict.reason == kProofStopped) {
    verdict.kind = VerdictKind::kUnknown;
  } else if ((verdict.refutation = refute(rule, options.refutation_sizes, options.seed)) ||
             (attempt->lacks_values() &&
              (verdict.refutation = refute_values(rule, options.refutation_sizes, options.seed)))) {
    verdict.kind = VerdictKind::kRefuted;
    if (options.look_for_guard) {
      verdict.saving_guard = find_saving_guard(rule, [&](const rules::Rule& guarded) {
        return attempt_proof(guarded, solver, options).empty();
      });
    }
  }
  verdict.steps = attempt->steps();
  verdict.pairs = attempt->pairs_tried();
  verdict.cpu_ms = core::thread_cpu_ms() - before;
  return verdict;
}

}  // namespace soapstone::verifier
