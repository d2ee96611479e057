// See comparison.h.
#include "search/equivalence/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace soapstone::search {
namespace {

/// Own errors beyond this share of an output's size say that the sample proves little.
constexpr double kIllConditioned = 0.05;
/// In double precision constants that are equal to the last bits of f32 count as one.
constexpr double kExactTolerance = 0x1p-20;
/// In double precision, the noise that is left when numbers of ordinary size cancel.
constexpr double kExactNoise = 1e-12;

std::vector<Floor> of_user(const EquivalenceOptions& options, std::size_t count) {
  return std::vector<Floor>(count, {options.rtol.value_or(0), options.atol.value_or(0),
                                    std::numeric_limits<double>::max()});
}

std::string error_text(const OutputError& error) {
  if (std::isinf(error.max_abs_error))
    return "is finite on one side only, or not the same infinity";
  return fmt::format("is off by {:.2g}, {:.2g} of its size", error.max_abs_error,
                     error.max_rel_error);
}

/// Whether a random sample has numbers beyond what a model usually reads.
bool may_leave_range(const EquivalenceOptions& options, int sample) {
  const auto kind = kind_of(options, sample);
  return kind && (is_wide(*kind) || is_about_points(*kind) || *kind == SampleKind::kStretched);
}

}  // namespace

const std::vector<core::Literal>& LastInputs::of(const core::Graph& graph,
                                                 const EquivalenceOptions& options, int sample) {
  if (sample_ == sample) return inputs_;
  inputs_.clear();  // before the others are drawn: both take memory
  inputs_ = inputs_of_sample(graph, options, sample);
  sample_ = sample;
  return inputs_;
}

std::vector<double> values_of(const core::Literal& literal) {
  const bool numeric = core::size_bytes(literal.data_type()) > 0;
  return numeric ? literal.to_doubles() : std::vector<double>();
}

std::vector<std::vector<double>> to_doubles(const std::vector<core::Literal>& literals) {
  std::vector<std::vector<double>> values;
  for (const core::Literal& literal : literals) values.push_back(values_of(literal));
  return values;
}

Comparison::Comparison(const EquivalenceOptions& options, std::vector<Floor> floors,
                       const std::vector<std::string>& output_names)
    : options_(options), floors_(std::move(floors)) {
  if (options.rtol || options.atol) floors_ = of_user(options, floors_.size());
  for (const std::string& name : output_names) report_.outputs.push_back({name});
}

Rounding of_moved(const EquivalenceOptions& options, int sample, const Floor& floor,
                  Rounding seen) {
  const auto kind = kind_of(options, sample);
  if (kind && is_level(*kind)) seen.equal_terms = floor.of_equal_terms;
  return seen;
}

bool Comparison::add(int sample, Expected& expected, const std::vector<std::vector<double>>& actual,
                     const AskRounding& ask, const AskRange& ask_range, std::string_view how) {
  if (actual.size() != expected.values.size()) {
    fail(sample,
         fmt::format("there are {} results instead of {}", actual.size(), expected.values.size()));
    return false;
  }
  const Latitude latitude = latitude_on(sample);
  const bool by_types = !options_.rtol && !options_.atol;
  std::vector<OutputError> errors(actual.size());
  const auto compare_one = [&](std::size_t k, const RangeEvidence* range, bool last) {
    OutputError error;
    const Rounding* const rounding =
        by_types && k < expected.rounding.size() ? &expected.rounding[k] : nullptr;
    const bool equal =
        compare(expected.values[k], actual[k], floors_[k], rounding, latitude, range, error);
    if (!equal && !last) return false;
    if (!equal) differ(sample, k, error_text(error) + std::string(how));
    error.equal = equal;
    errors[k] = std::move(error);
    return equal;
  };
  int turn = expected.rounding.empty() ? 0 : 1;
  const auto agrees = [&](std::size_t k) {
    if (compare_one(k, nullptr, false)) return true;
    if (by_types && turn == 0 && ask(expected, turn++) && compare_one(k, nullptr, false))
      return true;
    std::optional<RangeEvidence> range;
    if (latitude.may_overflow) range = ask_range(k);
    const RangeEvidence* const known = range ? &*range : nullptr;
    if (known != nullptr && compare_one(k, known, false)) return true;
    while (by_types && ask(expected, turn++))
      if (compare_one(k, known, false)) return true;
    return compare_one(k, known, true);
  };
  bool equal = true;
  for (std::size_t k = 0; k < actual.size(); ++k) equal = agrees(k) && equal;
  bool ill = false;
  for (std::size_t k = 0; k < expected.rounding.size(); ++k)
    ill = ill || (!floors_[k].is_integer() &&
                  expected.rounding[k].own_error > kIllConditioned * size_of(expected.values[k]));
  report_.add(errors, ill);
  return equal;
}

Latitude Comparison::latitude_on(int sample) const {
  const bool may_leave = may_leave_range(options_, sample);
  return {options_.latitude.may_overflow && may_leave, options_.latitude.may_recover,
          options_.latitude.may_lose && may_leave};
}

/// The original's own error shows how it amplifies rounding by one part in 2^23, which is what
/// constants of the rewritten graph may be off by.
bool Comparison::same_exactly(int sample, std::size_t output, const Expected& expected,
                              const std::vector<double>& exact, std::vector<double> actual,
                              OutputError& error) const {
  const Floor& own = floors_[output];
  const std::vector<double>& values = expected.values[output];
  if (own.is_integer())
    return compare(exact, actual, own, nullptr, {}, nullptr, error) || values != exact;
  // Where the original is a quotient of numbers too small for its type, doubles have no digits.
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) actual[i] = exact[i];
  Rounding seen = rounding_of(values, exact);
  if (output < expected.rounding.size()) seen.widen(expected.rounding[output]);
  const Rounding amplified{{}, seen.own_error * std::min(1.0, 0x1p-23 / own.spacing), seen.factor};
  // What cancels to zeros everywhere leaves as much as its constants have digits.
  const Floor floor{kExactTolerance, kExactNoise, std::numeric_limits<double>::max(),
                    std::min(own.spacing, 0x1p-23)};
  return compare(exact, actual, floor, &amplified, latitude_on(sample), nullptr, error);
}

bool Comparison::add_exact(int sample, Expected& expected,
                           const std::vector<std::vector<double>>& exact,
                           const std::vector<std::vector<double>>& actual, const AskRounding& ask) {
  bool equal = true;
  int turn = expected.rounding.empty() ? 0 : 1;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    // An output that is f64 in the graph overflows in double precision, too.
    if (has_wide_inputs(options_, sample) && floors_[k].spacing == 0x1p-52) continue;
    OutputError error;
    bool same = same_exactly(sample, k, expected, exact[k], actual[k], error);
    while (!same && ask(expected, turn++)) {
      error = {};
      same = same_exactly(sample, k, expected, exact[k], actual[k], error);
    }
    if (same) continue;
    equal = report_.outputs[k].equal = false;
    differ(sample, k, error_text(error) + " in double precision");
  }
  return equal;
}

void Comparison::differ(int sample, std::size_t output, std::string what) {
  report_.equal = false;
  if (report_.difference) return;
  report_.difference = Difference{sample, describe_sample(options_, sample),
                                  report_.outputs[output].name, std::move(what)};
}

void Comparison::fail(int sample, std::string what) {
  report_.equal = false;
  for (OutputError& output : report_.outputs) output.equal = false;
  if (!report_.difference)
    report_.difference = Difference{sample, describe_sample(options_, sample), {}, std::move(what)};
}

EquivalenceReport Comparison::take(int samples) {
  report_.samples = samples;
  return std::move(report_);
}

}  // namespace soapstone::search
