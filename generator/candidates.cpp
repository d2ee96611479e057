// See candidates.h.
#include "generator/candidates.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "generator/generalise.h"
#include "generator/term_hash.h"
#include "rules/complete.h"
#include "rules/constraints.h"
#include "rules/sample.h"
#include "rules/typing.h"

namespace soapstone::generator {
namespace {

using core::Result;
using rules::Rule;

constexpr int kSampleAttempts = 100;
constexpr int kChecks = 4;
constexpr std::int64_t kLargestSize = 12;

/// Different primes, so that no two sizes or products of sizes coincide by chance.
rules::Bindings different_sizes(const Rule& rule, std::size_t shift) {
  constexpr std::array<std::int64_t, 14> kPrimes{7,  11, 13, 17, 19, 23, 29,
                                                 31, 37, 41, 43, 47, 53, 59};
  rules::Bindings values(rule.source.symbols().size());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = kPrimes[(k + shift) % kPrimes.size()];
  return values;
}

std::optional<Sides> at(const Rule& rule, const rules::Bindings& values) {
  std::vector<std::int64_t> sizes;
  for (const auto& value : values) sizes.push_back(value.value_or(1));
  if (!rules::guard_holds(rule, sizes)) return std::nullopt;
  auto typed = rules::type_sides(rule.source, rule.target, values);
  if (!typed) return std::nullopt;
  for (const auto* list : {&typed->assumptions, &typed->requirements})
    for (const ops::SizeConstraint& c : *list) {
      const auto number = c.expression.as_constant();
      const bool zero = c.kind == ops::SizeConstraint::Kind::kZero;
      if (!number || (zero ? *number != 0 : *number < 0)) return std::nullopt;
    }
  return Sides{std::move(typed->source), std::move(typed->target)};
}

std::optional<Sides> instance_of(const Rule& rule) {
  for (std::size_t shift : {0, 5})
    if (auto sides = at(rule, different_sizes(rule, shift))) return sides;
  const rules::Sampler sampler(rule);
  rules::Random random(1);
  for (int attempt = 0; attempt < kSampleAttempts; ++attempt)
    if (auto sides = at(rule, sampler.all(random, kLargestSize))) return sides;
  return std::nullopt;
}

bool uses(const core::Graph& side, core::TensorId input) {
  return !side.consumers(input).empty() || side.is_output(input);
}

/// None where a match would not say what some input of the target is, or where a result of the
/// source is no node's.
std::optional<Rule> rule_between(const core::Graph& source, const core::Graph& target) {
  for (core::TensorId id : source.outputs())
    if (!source.tensor(id).producer.valid()) return std::nullopt;
  for (std::size_t k = 0; k < source.inputs().size(); ++k)
    if (uses(target, target.inputs()[k]) && !uses(source, source.inputs()[k])) return std::nullopt;
  Rule rule;
  rule.source = source;
  rule.target = target;
  rule.constant_inputs.assign(source.inputs().size(), false);
  if (auto complete = rules::complete(std::move(rule))) return *std::move(complete);
  return std::nullopt;
}

bool holds(const RuleCandidate& candidate) {
  for (const auto* direction : {&candidate.forward, &candidate.backward}) {
    if (!*direction) continue;
    const auto report = rules::check(**direction, kChecks, 1);
    if (!report || report->counterexample) return false;
  }
  return true;
}

struct Equality {
  std::optional<Sides> sides;
  bool exact = true;
  std::uint64_t hash = 0;
};

Equality equality(const Enumeration& enumeration, std::size_t k) {
  Equality result;
  Result<Sides> sides =
      k < enumeration.pairs.size()
          ? sides_of(enumeration, enumeration.pairs[k])
          : sides_of(enumeration, enumeration.splits[k - enumeration.pairs.size()]);
  if (!sides) return result;
  if (k < enumeration.pairs.size()) result.exact = enumeration.pairs[k].exact;
  result.hash = pair_hash(sides->source, sides->target);
  result.sides = *std::move(sides);
  return result;
}

}  // namespace

std::optional<RuleCandidate> candidate_of(const Sides& sides) {
  // The sizes as they were found where more general ones are no rule.
  const auto general = generalised(sides);
  for (const Sides* both : {general ? &*general : nullptr, &sides}) {
    if (both == nullptr) continue;
    RuleCandidate candidate;
    candidate.forward = rule_between(both->source, both->target);
    candidate.backward = rule_between(both->target, both->source);
    if (!candidate.forward && !candidate.backward) continue;
    // More general sizes are a guess.
    if (both != &sides && !holds(candidate)) continue;
    const Rule& rule = candidate.forward ? *candidate.forward : *candidate.backward;
    candidate.instance = instance_of(rule);
    if (candidate.instance && !candidate.forward)
      std::swap(candidate.instance->source, candidate.instance->target);
    candidate.operators = static_cast<int>(rule.source.order().size() + rule.target.order().size());
    candidate.inputs = rule.source.inputs().size();
    candidate.symbols = rules::size_symbols(rule.source).size();
    return candidate;
  }
  return std::nullopt;
}

CandidateList candidates_of(const Enumeration& enumeration, int jobs, core::ProgressSink& progress,
                            const core::StopToken& stop) {
  constexpr std::size_t kBatch = 4096;
  CandidateList list;
  const std::size_t count = enumeration.pairs.size() + enumeration.splits.size();
  std::unordered_set<std::uint64_t> known;
  tbb::task_arena arena(jobs > 0 ? jobs : tbb::task_arena::automatic);
  for (std::size_t begin = 0; begin < count && !stop.stop_requested(); begin += kBatch) {
    const std::size_t size = std::min(kBatch, count - begin);
    std::vector<Equality> found(size);
    std::vector<std::optional<RuleCandidate>> made(size);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, size,
                        [&](std::size_t k) { found[k] = equality(enumeration, begin + k); });
    });
    for (Equality& e : found)
      if (e.sides && !known.insert(e.hash).second) {
        e.sides.reset();
        ++list.duplicates;
      }
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, size, [&](std::size_t k) {
        if (found[k].sides) made[k] = candidate_of(*found[k].sides);
      });
    });
    for (std::size_t k = 0; k < size; ++k) {
      if (!made[k]) {
        if (found[k].sides) ++list.without_rule;
        continue;
      }
      made[k]->exact = found[k].exact;
      list.candidates.push_back(*std::move(made[k]));
    }
    progress.update(begin + size, count, {});
  }
  list.pairs = count;
  return list;
}

}  // namespace soapstone::generator
