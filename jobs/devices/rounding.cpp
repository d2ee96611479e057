// See rounding.h.
#include "jobs/devices/rounding.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ops/composites/composite.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/cut.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

constexpr std::uint64_t kRoundingSamples = 4;

struct Errors {
  double largest = 0, sum = 0;
  std::size_t count = 0;
};

void add_difference(const core::Literal& exact, const core::Literal& rounded, Errors& errors) {
  const std::vector<double> wanted = search::values_of(exact);
  const std::vector<double> found = search::values_of(rounded);
  const bool is_real = core::is_floating(exact.data_type());
  double squares = 0;
  for (const double value : wanted) squares += std::isfinite(value) ? value * value : 0;
  const double scale =
      std::sqrt(squares / static_cast<double>(std::max<std::size_t>(wanted.size(), 1)));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool equal = wanted[i] == found[i] || (std::isnan(wanted[i]) && std::isnan(found[i]));
    const double relative = !is_real || scale == 0 ? 1 : std::fabs(found[i] - wanted[i]) / scale;
    // Neither a number where there is none in f32, nor the other way round, is a small error.
    const double error = equal ? 0 : std::isnan(relative) ? HUGE_VAL : relative;
    errors.largest = std::max(errors.largest, error);
    errors.sum += error;
  }
  errors.count += wanted.size();
}

core::Result<runtime::Executable> compiled(const core::Graph& graph, runtime::Backend& backend,
                                           runtime::Fusion fusion) {
  return runtime::Executable::make(graph, backend, {.fusion = fusion});
}

}  // namespace

double RoundingError::largest() const {
  double most = 0;
  for (const Output& output : outputs) most = std::max(most, output.largest);
  return most;
}

double RoundingError::mean() const {
  double most = 0;
  for (const Output& output : outputs) most = std::max(most, output.mean);
  return most;
}

core::Result<RoundingError> measure_rounding(PlacedGraph exact, PlacedGraph rounded,
                                             runtime::Fusion fusion, std::uint64_t seed,
                                             std::span<const std::vector<core::Literal>> inputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(const search::CutGraph given, search::cut_at_opaque(exact.graph));
  SOAPSTONE_ASSIGN_OR_RETURN(const search::CutGraph result,
                             search::cut_at_opaque(ops::expanded(rounded.graph)));
  SOAPSTONE_ASSIGN_OR_RETURN(runtime::Executable in_full,
                             compiled(given.graph, exact.backend, fusion));
  SOAPSTONE_ASSIGN_OR_RETURN(runtime::Executable in_part,
                             compiled(result.graph, rounded.backend, fusion));
  std::vector<std::vector<core::Literal>> samples;
  // A graph that is cut has inputs that the caller knows nothing of.
  if (given.cut_nodes == 0) samples.assign(inputs.begin(), inputs.end());
  for (std::uint64_t k = 0; k < kRoundingSamples; ++k)
    samples.push_back(search::sample_inputs(given.graph, search::SampleKind::kNormal, seed + k));
  std::vector<Errors> errors(given.output_names.size());
  for (const std::vector<core::Literal>& sample : samples) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto wanted, in_full.run(sample));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto found, in_part.run(sample));
    for (std::size_t k = 0; k < wanted.size(); ++k) add_difference(wanted[k], found[k], errors[k]);
  }
  RoundingError error{.samples = samples.size(), .outputs = {}};
  for (std::size_t k = 0; k < errors.size(); ++k)
    error.outputs.push_back(
        {given.output_names[k], errors[k].largest,
         errors[k].sum / static_cast<double>(std::max<std::size_t>(errors[k].count, 1))});
  return error;
}

void count_rounded(const std::vector<cost::CostModel::Item>& launches, RoundingError& error) {
  const std::string prefix = fmt::format("{} factors", to_string(error.precision));
  error.launches = launches.size();
  error.rounded_launches = static_cast<std::size_t>(
      std::ranges::count_if(launches, [&](const cost::CostModel::Item& launch) {
        return launch.implementation.starts_with(prefix);
      }));
}

}  // namespace soapstone::jobs
