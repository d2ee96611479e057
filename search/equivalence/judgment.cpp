// See judgment.h. The effect of rounding is measured by the judge alone: our own double precision
// would carry a mistake of our importer into the tolerance.
#include "search/equivalence/judgment.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace soapstone::search {
namespace {

/// How the result is run, in words that follow a difference.
std::string_view words_for(bool as_deployed) {
  return as_deployed ? " with the runtime's own optimizations" : "";
}

}  // namespace

using core::Graph;

Judgment::Judgment(Judge& judge, const Graph& original, const EquivalenceOptions& options)
    : judge_(judge), original_(original), options_(options), floors_(floors_of(original)) {}

core::Result<Judgment::Results> Judgment::run_on(Judge::Model model,
                                                 const std::vector<core::Literal>& inputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto results, judge_.run(model, inputs));
  if (results.size() != floors_.size())
    return core::unsupported(
        fmt::format("it gives {} results instead of {}", results.size(), floors_.size()));
  Results all{to_doubles(results), {}};
  for (const core::Literal& result : results)
    all.types.push_back(
        fmt::format("{}{}", core::to_string(result.data_type()), core::to_string(result.dims())));
  return all;
}

const core::Result<Judgment::Results>& Judgment::original_on(int sample) {
  const auto known = results_.find(sample);
  if (known != results_.end()) return known->second;
  auto values = run_on(Judge::Model::kOriginal, inputs_of_sample(original_, options_, sample));
  return results_.emplace(sample, std::move(values)).first->second;
}

std::string Judgment::refusal() {
  if (samples() == 0) return "no inputs were asked for";
  for (int sample = 0; sample < samples(); ++sample)
    if (original_on(sample)) return {};
  return results_.at(0).error().message;
}

/// What the runtime's own optimizations change in the original, and what weights and inputs do as
/// rounding might have left them. On a model that cannot be moved the inputs are moved alone.
const Judgment::Noise& Judgment::noise_on(int sample) {
  const auto known = noise_.find(sample);
  if (known != noise_.end()) return known->second;
  const auto inputs = inputs_of_sample(original_, options_, sample);
  const auto moved_inputs = perturbed(inputs, options_.seed);
  const Results& original = *original_on(sample);
  const auto between = [&](const core::Result<Results>& again) {
    std::vector<Rounding> seen(original.values.size());
    for (std::size_t k = 0; again && k < seen.size(); ++k)
      seen[k] = rounding_between(original.values[k], again->values[k]);
    return seen;
  };
  auto moved = run_on(Judge::Model::kMovedOriginal, moved_inputs);
  if (!moved) moved = run_on(Judge::Model::kOriginal, moved_inputs);
  Noise noise{between(run_on(Judge::Model::kOptimizedOriginal, inputs)), between(moved)};
  return noise_.emplace(sample, std::move(noise)).first->second;
}

/// As deployed, the runtime may choose kernels for the result that sum in an order which no run of
/// the original shows.
void Judgment::ask_rounding(int sample, bool as_deployed, Expected& expected) {
  const auto& [optimized, moved] = noise_on(sample);
  const int turn = sample - static_cast<int>(options_.inputs.size());
  const bool adds_up = as_deployed && turn >= 0 && is_level(sample_kind(turn));
  for (std::size_t k = 0; k < moved.size(); ++k) {
    Rounding of_moved = moved[k];
    if (adds_up) of_moved.factor *= floors_[k].of_equal_terms;
    expected.rounding.push_back(larger(optimized[k], of_moved));
  }
}

bool Judgment::compare(int sample, const Results& actual, Expected& expected, bool as_deployed,
                       Comparison& comparison) {
  const Results& original = *original_on(sample);
  for (std::size_t k = 0; k < original.types.size(); ++k) {
    if (original.types[k] == actual.types[k]) continue;
    comparison.fail(sample,
                    fmt::format("gives {} as result {} in {}{}, where the original gives {}",
                                actual.types[k], k + 1, judge_.runtime(), words_for(as_deployed),
                                original.types[k]));
    return false;
  }
  return comparison.add(
      sample, expected, actual.values,
      [&](Expected& asked) { ask_rounding(sample, as_deployed, asked); }, words_for(as_deployed));
}

void Judgment::refuse(int sample, const core::Error& error, bool as_deployed,
                      Comparison& comparison) {
  comparison.fail(sample, fmt::format("is not run by {}{}, which runs the original: {}",
                                      judge_.runtime(), words_for(as_deployed), error.message));
}

/// The result as it will be deployed. The runtime's optimizations may change what is rounded and
/// what overflows, in the original as well as here, so it may agree with either original.
void Judgment::compare_optimized(int sample, Expected& expected, Comparison& comparison) {
  const auto inputs = inputs_of_sample(original_, options_, sample);
  const auto actual = run_on(Judge::Model::kOptimizedRewritten, inputs);
  Comparison alone = this->comparison();
  expected.rounding.clear();
  if (actual && compare(sample, *actual, expected, true, alone)) {
    (void)compare(sample, *actual, expected, true, comparison);
    return;
  }
  const auto original = run_on(Judge::Model::kOptimizedOriginal, inputs);
  if (!actual) {
    if (original) refuse(sample, actual.error(), true, comparison);
    return;
  }
  if (original) expected.values = original->values;
  (void)compare(sample, *actual, expected, true, comparison);
}

/// Errors: kUnavailable: the judge does not work any more.
core::Status Judgment::compare_on(int sample, Comparison& comparison) {
  const core::Result<Results>& original = original_on(sample);
  if (!original) return core::Done{};  // inputs that the runtime refuses
  const auto inputs = inputs_of_sample(original_, options_, sample);
  const auto actual = run_on(Judge::Model::kRewritten, inputs);
  if (!actual) {
    if (actual.error().code == core::ErrorCode::kUnavailable) {
      // Is it the runtime that does not work, or the result that breaks it?
      const auto again = run_on(Judge::Model::kOriginal, inputs);
      if (!again) return again.error();
    }
    refuse(sample, actual.error(), false, comparison);
    return core::Done{};
  }
  Expected expected{original->values, {}};
  if (compare(sample, *actual, expected, false, comparison))
    compare_optimized(sample, expected, comparison);
  return core::Done{};
}

Comparison Judgment::comparison() const {
  std::vector<std::string> names;
  for (const core::TensorId id : original_.outputs()) names.push_back(original_.tensor(id).name);
  return Comparison(options_, floors_, names);
}

JudgeReport Judgment::run(const Graph& rewritten, core::ProgressSink& progress,
                          const core::StopToken& stop) {
  JudgeReport report{judge_.runtime(), false, refusal(), {}};
  if (!report.reason.empty()) return report;
  if (const core::Status written = judge_.rewrite(rewritten); !written) {
    report.reason = written.error().to_string();
    return report;
  }
  Comparison all = comparison();
  int done = 0, looked = 0;
  for (; done < samples() && (looked == 0 || !stop.stop_requested()); ++done) {
    if (const core::Status compared = compare_on(done, all); !compared) {
      report.reason = compared.error().message;
      return report;
    }
    looked += original_on(done) ? 1 : 0;
    progress.update(static_cast<std::uint64_t>(done) + 1, static_cast<std::uint64_t>(samples()),
                    judge_.runtime());
  }
  report.looked = true;
  report.equivalence = all.take(looked);
  return report;
}

core::Result<bool> Judgment::differs_on(const Graph& rewritten, int sample) {
  SOAPSTONE_RETURN_IF_ERROR(judge_.rewrite(rewritten));
  Comparison one = comparison();
  SOAPSTONE_RETURN_IF_ERROR(compare_on(sample, one));
  return !one.take(1).equal;
}

}  // namespace soapstone::search
