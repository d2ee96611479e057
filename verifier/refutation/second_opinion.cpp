// See second_opinion.h.
#include "verifier/refutation/second_opinion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ops/analysis/analysis.h"
#include "rules/floats/noise.h"
#include "rules/rule/constraints.h"
#include "rules/rule/typing.h"
#include "rules/sampling/sample_sizes.h"
#include "runtime/execution/elements.h"
#include "runtime/execution/executor.h"
#include "verifier/refutation/sides_at_sizes.h"

namespace soapstone::verifier {
namespace {

using core::Graph;
using rules::Bindings;

constexpr int kOpinionsPerSize = 100;

/// Rounding errors of an element grow with how many numbers it is computed from.
double operations_per_element(const Graph& side) {
  double total = 0;
  for (core::NodeId id : side.order()) {
    double elements = 0;
    for (core::TensorId output : side.node(id).outputs)
      elements +=
          static_cast<double>(core::element_count(*core::concrete(side.tensor(output).type.shape)));
    if (elements > 0) total += 1 + ops::work_of(side, id).flops / elements;
  }
  return total;
}

/// Both sides at some sizes, compiled.
struct CompiledSides {
  Graph source, target;
  runtime::Executable source_run, target_run;
  double tolerance;
};

double root_mean_square(const std::vector<double>& values) {
  double sum = 0;
  std::size_t finite = 0;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++finite;
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

class FloatRuns {
 public:
  FloatRuns(const rules::Rule& rule, runtime::Backend& backend, std::uint64_t seed)
      : rule_(rule), backend_(backend), sampler_(rule), random_(seed) {}

  core::Status run(int size_count, SecondOpinion& opinion) {
    const int most = kOpinionsPerSize * std::max(size_count, 1);
    for (int attempt = 0; attempt < most && opinion.float_sizes < size_count; ++attempt) {
      constexpr std::int64_t kLargest = 5;
      const Bindings sizes = sampler_.draw(random_, 2 + attempt % (kLargest - 1));
      if (!sampler_.admits(sizes)) continue;
      SOAPSTONE_ASSIGN_OR_RETURN(CompiledSides * sides, compiled(sizes));
      if (!sides) continue;
      SOAPSTONE_RETURN_IF_ERROR(compare(*sides, opinion));
      ++opinion.float_sizes;
      if (opinion.agrees()) continue;
      opinion.disagreement = sizes_text(sizes) + opinion.disagreement;
      break;
    }
    return core::Done{};
  }

 private:
  /// Null: the sizes do not fit. Compiling takes longest, so each sizes are compiled once.
  core::Result<CompiledSides*> compiled(const Bindings& sizes) {
    const auto known = compiled_.find(sizes);
    if (known != compiled_.end()) return known->second.get();
    std::unique_ptr<CompiledSides>& sides = compiled_[sizes];
    auto typed = rules::type_sides(rule_.source, rule_.target, sizes);
    if (!typed || rules::has_empty_tensor(typed->source) || is_too_large(typed->source) ||
        is_too_large(typed->target))
      return nullptr;
    SOAPSTONE_ASSIGN_OR_RETURN(auto left, runtime::Executable::make(typed->source, backend_));
    SOAPSTONE_ASSIGN_OR_RETURN(auto right, runtime::Executable::make(typed->target, backend_));
    constexpr double kUnit = 0x1p-24, kMargin = 64;
    const double operations =
        operations_per_element(typed->source) + operations_per_element(typed->target);
    sides = std::make_unique<CompiledSides>(
        CompiledSides{std::move(typed->source), std::move(typed->target), std::move(left),
                      std::move(right), kMargin * kUnit * operations});
    return sides.get();
  }

  /// Positive numbers near 1 or signed ones: roots and logarithms are numbers of the former.
  std::vector<core::Literal> draw_inputs(const Graph& side) {
    const bool positive = random_.next() % 2 == 0;
    std::vector<core::Literal> inputs;
    for (core::TensorId id : side.inputs()) {
      const core::TensorType& type = side.tensor(id).type;
      const core::Dims dims = *core::concrete(type.shape);
      std::vector<double> values(static_cast<std::size_t>(core::element_count(dims)));
      for (double& v : values) {
        const double unit = random_.unit();
        v = positive ? 0.5 + unit : 2 * unit - 1;
        if (!core::is_floating(type.data_type)) v = static_cast<double>(random_.between(0, 1));
      }
      std::vector<std::byte> bytes(values.size() * core::size_bytes(type.data_type));
      runtime::store_elements(type, runtime::Layout::kRowMajor, values, bytes.data());
      inputs.push_back(core::Literal::copy(type.data_type, dims, bytes));
    }
    return inputs;
  }

  /// Whether both sides, by their definitions, have an element there that rounding moves by less
  /// than the difference. Near a step of a function, such as that of floor, kernels may differ.
  static bool is_certain(const CompiledSides& sides, const std::vector<core::Literal>& inputs,
                         std::size_t output, std::size_t element, double difference) {
    std::vector<std::vector<double>> values;
    for (const core::Literal& input : inputs) values.push_back(input.to_doubles());
    constexpr auto kSingle = rules::NoisePrecision::kSingle;
    for (const Graph* side : {&sides.source, &sides.target}) {
      const auto noisy = rules::run_with_noise(*side, values, 1, kSingle);
      if (!rules::is_steady(noisy.outputs[output][element], difference)) return false;
    }
    return true;
  }

  core::Status compare(CompiledSides& sides, SecondOpinion& opinion) {
    const auto inputs = draw_inputs(sides.source);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto left, sides.source_run.run(inputs));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto right, sides.target_run.run(inputs));
    for (std::size_t k = 0; k < left.size() && opinion.agrees(); ++k) {
      const std::vector<double> a = left[k].to_doubles(), b = right[k].to_doubles();
      const double scale = root_mean_square(a);
      for (std::size_t i = 0; i < a.size() && opinion.agrees(); ++i) {
        // A rule promises nothing of the target at inputs where the source has no value.
        if (a[i] == b[i] || !std::isfinite(a[i])) continue;
        const double error = std::fabs(a[i] - b[i]) / std::max({std::fabs(a[i]), scale, 1e-30});
        if (std::isfinite(error))
          opinion.largest_relative_error = std::max(opinion.largest_relative_error, error);
        if (error <= sides.tolerance) continue;
        const double difference = std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) : std::fabs(a[i]);
        if (!is_certain(sides, inputs, k, i, difference)) continue;
        const core::Tensor& output = sides.source.tensor(sides.source.outputs()[k]);
        opinion.disagreement =
            fmt::format("{}: element {} of {} is {} in the source but {} in the target",
                        output.name, i, core::to_string(left[k].dims()), a[i], b[i]);
      }
    }
    return core::Done{};
  }

  std::string sizes_text(const Bindings& sizes) const {
    std::string text;
    for (std::size_t s = 0; s < sizes.size(); ++s)
      if (sizes[s])
        text += fmt::format(
            "{}{} = {}", text.empty() ? "" : ", ",
            rule_.source.symbols().name(core::Symbol{static_cast<std::uint32_t>(s)}), *sizes[s]);
    return text.empty() ? text : text + ": ";
  }

  const rules::Rule& rule_;
  runtime::Backend& backend_;
  rules::SizeSampler sampler_;
  rules::Random random_;
  std::map<Bindings, std::unique_ptr<CompiledSides>> compiled_;
};

}  // namespace

core::Result<SecondOpinion> second_opinion(const rules::Rule& rule, runtime::Backend& backend,
                                           const SecondOpinionOptions& options) {
  SecondOpinion opinion;
  SOAPSTONE_ASSIGN_OR_RETURN(const auto report,
                             rules::check(rule, options.field_sizes, options.seed));
  opinion.field_sizes = report.sizes_tried;
  if (report.counterexample) {
    for (const auto& [name, size] : report.counterexample->sizes)
      opinion.disagreement += fmt::format("{} = {}, ", name, size);
    opinion.disagreement += report.counterexample->text;
    return opinion;
  }
  FloatRuns runs(rule, backend, options.seed);
  SOAPSTONE_RETURN_IF_ERROR(runs.run(options.float_sizes, opinion));
  return opinion;
}

}  // namespace soapstone::verifier
