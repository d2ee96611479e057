// See judgment.h. The effect of rounding is measured by the judge alone: our own double precision
// would carry a mistake of our importer into the tolerance.
#include "search/equivalence/judgment.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "ops/definition/registry.h"

namespace soapstone::search {
namespace {

/// How the result is run, in words that follow a difference.
std::string_view words_for(bool as_deployed) {
  return as_deployed ? " with the runtime's own optimizations" : "";
}

std::string text_of(const core::TensorType& type) {
  return fmt::format("{}{}", core::to_string(type.data_type),
                     type.shape_known ? core::to_string(type.shape, {}) : "");
}

/// Behind an opaque operator less may be known than the runtime shows.
bool agree(const core::TensorType& known, const core::TensorType& actual) {
  return (known.data_type == core::DataType::kOther || known.data_type == actual.data_type) &&
         (!known.shape_known || known.shape == actual.shape);
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
  Results all;
  for (const NamedResult& result : results) {
    all.values.push_back(values_of(result.value));
    all.types.push_back({result.value.data_type(), core::to_shape(result.value.dims())});
    all.names.push_back(result.name);
  }
  return all;
}

/// As it is written, or else with the runtime's own optimizations.
core::Result<Judgment::Results> Judgment::run_original(const std::vector<core::Literal>& inputs) {
  auto results = run_on(Judge::Model::kOriginal, inputs);
  if (results) return results;
  auto deployed = run_on(Judge::Model::kOptimizedOriginal, inputs);
  if (!deployed) return results;
  deployed->refused_as_written = results.error().message;
  return deployed;
}

/// Valid until it is asked for another sample.
const std::vector<core::Literal>& Judgment::inputs_on(int sample) {
  const auto other = replaced_.find(sample);
  return other != replaced_.end() ? other->second : drawn_.of(original_, options_, sample);
}

/// Inputs that it refuses may be so for their integers, as sizes and indices: it is asked again.
const core::Result<Judgment::Results>& Judgment::original_on(int sample) {
  const auto known = results_.find(sample);
  if (known != results_.end()) return known->second;
  const auto drawn = drawn_.of(original_, options_, sample);
  auto results = run_original(drawn);
  const bool may_replace = !results && results.error().code == core::ErrorCode::kUnsupported &&
                           kind_of(options_, sample) && has_plain_integers(original_);
  for (int attempt = 1; may_replace && !results && attempt <= kPlainAttempts; ++attempt) {
    auto plain = with_plain_integers(original_, drawn, attempt);
    auto again = run_original(plain);
    if (!again) continue;
    results = std::move(again);
    replaced_.emplace(sample, std::move(plain));
  }
  return results_.emplace(sample, std::move(results)).first->second;
}

std::string Judgment::refusal(const core::StopToken& stop) {
  if (samples() == 0) return "no inputs were asked for";
  for (int sample = 0; sample < samples(); ++sample) {
    if (original_on(sample)) return {};
    if (stop.stop_requested()) break;
  }
  return fmt::format("{} does not run the original: {}", judge_.runtime(),
                     results_.at(0).error().message);
}

bool Judgment::refuses_for_good(const core::StopToken& stop) {
  if (refusal(stop).empty()) return false;
  if (results_.at(0).error().code != core::ErrorCode::kUnsupported) return false;
  return can_sample(original_) ||
         !(judge_.load(Judge::Model::kOriginal) || judge_.load(Judge::Model::kOptimizedOriginal));
}

/// By output, between the original's results and others of it.
std::vector<Rounding> Judgment::rounding_to(int sample, const core::Result<Results>& again,
                                            OtherRun run) {
  const Results& original = *original_on(sample);
  std::vector<Rounding> seen(original.values.size());
  for (std::size_t k = 0; again && k < seen.size(); ++k)
    seen[k] = rounding_between(original.values[k], again->values[k], run);
  return seen;
}

/// Once more, with other neighbors. On a model that cannot be moved the inputs are moved alone; in
/// opaque nodes, as bodies of loops are, nobody else can move anything.
void Judgment::move(int sample, Noise& noise) {
  const auto turn = static_cast<std::uint64_t>(noise.moves++);
  const std::uint64_t seed = options_.seed + turn;
  const bool is_opaque = std::ranges::any_of(
      original_.order(), [&](core::NodeId id) { return ops::is_opaque(original_.node(id)); });
  const auto inputs = is_opaque ? perturbed(inputs_on(sample), seed)
                                : moved_inputs(options_, sample, inputs_on(sample), seed);
  judge_.move(turn);
  auto moved = run_on(Judge::Model::kMovedOriginal, inputs);
  if (!moved) {
    moved =
        run_on(original_on(sample)->refused_as_written.empty() ? Judge::Model::kOriginal
                                                               : Judge::Model::kOptimizedOriginal,
               inputs);
  }
  noise.moved.resize(floors_.size());
  const OtherRun run = turn == 0 || !moved ? OtherRun::kMoved : OtherRun::kNoisy;
  const std::vector<Rounding> seen = rounding_to(sample, moved, run);
  for (std::size_t k = 0; k < seen.size(); ++k)
    noise.moved[k].widen(of_moved(options_, sample, floors_[k], seen[k]));
}

/// What the runtime's own optimizations change in the original, and what weights and inputs do as
/// rounding might have left them, in so many runs or more.
const Judgment::Noise& Judgment::noise_on(int sample, int moves) {
  Noise& noise = noise_[sample];
  if (noise.moves == 0) {
    const auto& inputs = inputs_on(sample);
    noise.optimized =
        rounding_to(sample, run_on(Judge::Model::kOptimizedOriginal, inputs), OtherRun::kMoved);
  }
  while (noise.moves < moves) move(sample, noise);
  return noise;
}

bool Judgment::ask_rounding(int sample, Expected& expected, int turn) {
  if (turn >= kMostMoves) return false;
  const Noise& noise = noise_on(sample, turn + 1);
  expected.rounding.clear();
  for (std::size_t k = 0; k < noise.moved.size(); ++k)
    expected.rounding.push_back(larger(noise.optimized[k], noise.moved[k]));
  return true;
}

/// The runtime does not show what is between nodes.
RangeEvidence Judgment::range_of(int sample, std::size_t output) const {
  if (!ask_overflow_) return {};
  const std::vector<bool> leaves = ask_overflow_(*rewritten_, sample);
  return {{}, {}, output < leaves.size() && leaves[output]};
}

/// Whether the original's results are what this program takes them for. Else what it made of the
/// model, or what the model says of itself, is wrong.
bool Judgment::is_as_read(int sample, const Results& original, Comparison& comparison) const {
  for (std::size_t k = 0; k < original.types.size(); ++k) {
    const core::TensorType& read = original_.tensor(original_.outputs()[k]).type;
    if (agree(read, original.types[k])) continue;
    comparison.fail(sample,
                    fmt::format("was misread: {} gives {} as result {} ({}) of the original, which "
                                "is {} here",
                                judge_.runtime(), text_of(original.types[k]), k + 1,
                                original.names[k], text_of(read)));
    return false;
  }
  return true;
}

bool Judgment::has_interface_of(const Results& original, int sample, const Results& actual,
                                bool as_deployed, Comparison& comparison) const {
  for (std::size_t k = 0; k < original.types.size(); ++k) {
    if (original.types[k] == actual.types[k] && original.names[k] == actual.names[k]) continue;
    comparison.fail(sample, fmt::format("gives {} as result {} ({}) in {}{}, where the original "
                                        "gives {} ({})",
                                        text_of(actual.types[k]), k + 1, actual.names[k],
                                        judge_.runtime(), words_for(as_deployed),
                                        text_of(original.types[k]), original.names[k]));
    return false;
  }
  return true;
}

bool Judgment::compare(int sample, const Results& actual, Expected& expected, bool as_deployed,
                       Comparison& comparison) {
  if (!has_interface_of(*original_on(sample), sample, actual, as_deployed, comparison))
    return false;
  return comparison.add(
      sample, expected, actual.values,
      [&](Expected& asked, int turn) { return ask_rounding(sample, asked, turn); },
      [&](std::size_t output) { return range_of(sample, output); }, words_for(as_deployed));
}

void Judgment::refuse(int sample, const core::Error& error, bool as_deployed,
                      Comparison& comparison) {
  comparison.fail(sample, fmt::format("is not run by {}{}, which runs the original: {}",
                                      judge_.runtime(), words_for(as_deployed), error.message));
}

/// The result as it will be deployed. The runtime's optimizations may change what is rounded and
/// what overflows, in the original as well as here, so it may agree with either original.
void Judgment::compare_optimized(int sample, Expected& expected, Comparison& comparison) {
  const auto& inputs = inputs_on(sample);
  const auto actual = run_on(Judge::Model::kOptimizedRewritten, inputs);
  Comparison alone = this->comparison();
  expected.rounding.clear();
  if (actual && compare(sample, *actual, expected, true, alone)) {
    (void)compare(sample, *actual, expected, true, comparison);
    return;
  }
  const auto original = run_on(Judge::Model::kOptimizedOriginal, inputs);
  if (!actual) {
    if (original)
      refuse(sample, actual.error(), true, comparison);
    else
      note_ = fmt::format("with its own optimizations it runs neither file: {}",
                          original.error().message);
    return;
  }
  if (original) expected.values = original->values;
  (void)compare(sample, *actual, expected, true, comparison);
}

/// False: it differs. Errors: kUnavailable: the judge does not work any more.
core::Result<bool> Judgment::compare_as_written(int sample, Expected& expected,
                                                Comparison& comparison) {
  const auto& inputs = inputs_on(sample);
  const auto actual = run_on(Judge::Model::kRewritten, inputs);
  if (actual) return compare(sample, *actual, expected, false, comparison);
  if (actual.error().code == core::ErrorCode::kUnavailable) {
    // Is it the runtime that does not work, or the result that breaks it?
    const auto again = run_on(Judge::Model::kOriginal, inputs);
    if (!again) return again.error();
  }
  refuse(sample, actual.error(), false, comparison);
  return false;
}

/// Errors: kUnavailable: the judge does not work any more.
core::Status Judgment::compare_on(int sample, Comparison& comparison) {
  const core::Result<Results>& original = original_on(sample);
  if (!original) return core::Done{};  // inputs that the runtime refuses
  if (!is_as_read(sample, *original, comparison)) return core::Done{};
  Expected expected{original->values, {}};
  if (original->refused_as_written.empty()) {
    SOAPSTONE_ASSIGN_OR_RETURN(const bool same, compare_as_written(sample, expected, comparison));
    if (!same) return core::Done{};
  }
  if (!original->refused_as_written.empty())
    note_ = fmt::format("without its own optimizations it does not run the original: {}",
                        original->refused_as_written);
  compare_optimized(sample, expected, comparison);
  return core::Done{};
}

Comparison Judgment::comparison() const {
  std::vector<std::string> names;
  for (const core::TensorId id : original_.outputs()) names.push_back(original_.tensor(id).name);
  return Comparison(options_, floors_, names);
}

/// A run that was cut short says nothing of the original.
void Judgment::forget(int sample) {
  results_.erase(sample);
  replaced_.erase(sample);
  noise_.erase(sample);
}

JudgeReport Judgment::run(const Graph& rewritten, core::ProgressSink& progress,
                          const core::StopToken& stop) {
  note_.clear();
  rewritten_ = &rewritten;
  JudgeReport report{judge_.runtime(), false, refusal(), {}, {}};
  if (!report.reason.empty()) return report;
  if (const core::Status written = judge_.rewrite(rewritten); !written) {
    report.reason = written.error().to_string();
    return report;
  }
  std::optional<Comparison> all = comparison();
  int done = 0, looked = 0;
  for (; done < samples() && (looked == 0 || !stop.stop_requested()); ++done) {
    // Whoever interrupts has the result looked at once all the same.
    const core::StopScope scope(looked == 0 ? nullptr : &stop);
    Comparison next = *all;
    const core::Status compared = compare_on(done, next);
    if (scope.has_interrupted()) {
      forget(done);
      break;
    }
    if (!compared) {
      report.reason = compared.error().message;
      return report;
    }
    all.emplace(std::move(next));
    looked += original_on(done) ? 1 : 0;
    progress.update(static_cast<std::uint64_t>(done) + 1, static_cast<std::uint64_t>(samples()),
                    judge_.runtime());
  }
  report.looked = true;
  report.note = note_;
  report.equivalence = all->take(looked);
  return report;
}

core::Result<bool> Judgment::differs_on(const Graph& rewritten, int sample) {
  SOAPSTONE_RETURN_IF_ERROR(judge_.rewrite(rewritten));
  rewritten_ = &rewritten;
  Comparison one = comparison();
  SOAPSTONE_RETURN_IF_ERROR(compare_on(sample, one));
  return !one.take(1).equal;
}

}  // namespace soapstone::search
