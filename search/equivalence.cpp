// Runs two graphs side by side and compares every output element.
#include "search/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "runtime/executor.h"
#include "search/cut.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::TensorId;

core::Status require_same_interface(const Graph& a, const Graph& b) {
  const auto describe = [](const Graph& graph, TensorId id) {
    const core::TensorType& type = graph.tensor(id).type;
    return fmt::format("{}{}", core::to_string(type.data_type),
                       core::to_string(type.shape, graph.symbols()));
  };
  const auto compare = [&](std::span<const TensorId> x, std::span<const TensorId> y,
                           std::string_view what) -> core::Status {
    if (x.size() != y.size()) {
      return core::invalid_input(
          fmt::format("the graphs have {} and {} {}s", x.size(), y.size(), what));
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (a.tensor(x[k]).type == b.tensor(y[k]).type) continue;
      return core::invalid_input(fmt::format("{} {} ({}) is {} in one graph and {} in the other",
                                             what, k, a.tensor(x[k]).name, describe(a, x[k]),
                                             describe(b, y[k])));
    }
    return core::Done{};
  };
  SOAPSTONE_RETURN_IF_ERROR(compare(a.inputs(), b.inputs(), "input"));
  return compare(a.outputs(), b.outputs(), "output");
}

/// Texts are not computed here: such an output is an input handed through, the same one in both
/// graphs.
bool same_source(const Graph& a, const Graph& b, std::size_t output) {
  const auto number = [output](const Graph& graph) {
    const auto inputs = graph.inputs();
    return std::find(inputs.begin(), inputs.end(), graph.outputs()[output]) - inputs.begin();
  };
  return number(a) == number(b) && number(a) < std::ssize(a.inputs());
}

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  std::size_t finite = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

void compare(const core::Literal& expected, const core::Literal& actual,
             const EquivalenceOptions& options, OutputError& error) {
  const std::vector<double> a = expected.to_doubles();
  const std::vector<double> b = actual.to_doubles();
  if (a.size() != b.size()) {
    error.equal = false;
    return;
  }
  const double scale = root_mean_square(a);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
      if (same) continue;
      error.equal = false;
      error.max_abs_error = error.max_rel_error = std::numeric_limits<double>::infinity();
      continue;
    }
    const double difference = std::abs(a[i] - b[i]);
    const double size = std::max(std::abs(a[i]), scale);
    error.max_abs_error = std::max(error.max_abs_error, difference);
    if (size > 0) {
      error.max_rel_error = std::max(error.max_rel_error, difference / size);
    }
    if (difference > options.atol + options.rtol * size) error.equal = false;
  }
}

std::vector<core::Literal> inputs_of_sample(const Graph& graph, const EquivalenceOptions& options,
                                            int sample) {
  const auto own = static_cast<int>(options.inputs.size());
  if (sample < own) {
    std::vector<core::Literal> inputs = options.inputs[static_cast<std::size_t>(sample)];
    // A cut graph has inputs that the user knows nothing of.
    std::vector<core::Literal> all = sample_inputs(graph, SampleKind::kNormal, options.seed);
    std::move(inputs.begin(), inputs.end(), all.begin());
    return all;
  }
  constexpr SampleKind kTurns[] = {SampleKind::kNormal, SampleKind::kExtreme, SampleKind::kNormal,
                                   SampleKind::kZero,   SampleKind::kNormal,  SampleKind::kOne,
                                   SampleKind::kNormal, SampleKind::kTiny};
  const int turn = sample - own;
  return sample_inputs(graph, kTurns[static_cast<std::size_t>(turn) % std::size(kTurns)],
                       options.seed + static_cast<std::uint64_t>(turn));
}

core::Status require_fitting(const Graph& graph, const std::vector<core::Literal>& inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return core::invalid_input(fmt::format("{} input arrays were given, the model has {} inputs",
                                           inputs.size(), graph.inputs().size()));
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const core::Tensor& tensor = graph.tensor(graph.inputs()[k]);
    const auto dims = core::concrete(tensor.type.shape);
    if (tensor.type.data_type == inputs[k].data_type() && dims && *dims == inputs[k].dims()) {
      continue;
    }
    return core::invalid_input(fmt::format(
        "input {} is {}{}, the array given for it is {}{}", tensor.name,
        core::to_string(tensor.type.data_type), core::to_string(tensor.type.shape, graph.symbols()),
        core::to_string(inputs[k].data_type()), core::to_string(inputs[k].dims())));
  }
  return core::Done{};
}

}  // namespace

double EquivalenceReport::max_rel_error() const {
  double result = 0;
  for (const OutputError& output : outputs) result = std::max(result, output.max_rel_error);
  return result;
}

core::Result<EquivalenceReport> check_equivalence(const Graph& a, const Graph& b,
                                                  runtime::Backend& backend,
                                                  const EquivalenceOptions& options,
                                                  core::ProgressSink& progress,
                                                  const core::StopToken& stop) {
  for (const auto& inputs : options.inputs) SOAPSTONE_RETURN_IF_ERROR(require_fitting(a, inputs));
  SOAPSTONE_RETURN_IF_ERROR(require_same_interface(a, b));
  SOAPSTONE_ASSIGN_OR_RETURN(const CutGraph cut_a, cut_at_opaque(a));
  SOAPSTONE_ASSIGN_OR_RETURN(const CutGraph cut_b, cut_at_opaque(b));
  SOAPSTONE_RETURN_IF_ERROR(require_same_interface(cut_a.graph, cut_b.graph));
  // An unrolled network would hold its weights as often as it reads them.
  const runtime::Executable::Options lean{.hold_shared_weights = false};
  SOAPSTONE_ASSIGN_OR_RETURN(auto run_a, runtime::Executable::make(cut_a.graph, backend, lean));
  SOAPSTONE_ASSIGN_OR_RETURN(auto run_b, runtime::Executable::make(cut_b.graph, backend, lean));
  EquivalenceReport report;
  report.cut_nodes = cut_a.cut_nodes;
  for (const std::string& name : cut_a.output_names) report.outputs.push_back({name, 0, 0, true});
  const int total = options.samples + static_cast<int>(options.inputs.size());
  for (int sample = 0; sample < total; ++sample) {
    if (stop.stop_requested() && sample > 0) break;
    const auto inputs = inputs_of_sample(cut_a.graph, options, sample);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto expected, run_a.run(inputs));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto actual, run_b.run(inputs));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (core::size_bytes(expected[k].data_type()) == 0)
        report.outputs[k].equal = same_source(cut_a.graph, cut_b.graph, k);
      else
        compare(expected[k], actual[k], options, report.outputs[k]);
    }
    report.samples = sample + 1;
    progress.update(static_cast<std::uint64_t>(sample + 1), static_cast<std::uint64_t>(total), "");
  }
  report.equal = std::all_of(report.outputs.begin(), report.outputs.end(),
                             [](const OutputError& output) { return output.equal; });
  return report;
}

}  // namespace soapstone::search
