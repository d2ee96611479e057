// See landmarks.h.
#include "search/equivalence/landmarks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "ops/analysis/arithmetic.h"
#include "ops/analysis/choices.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/double_precision.h"
#include "search/equivalence/sample_inputs.h"
#include "search/equivalence/value_roles.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// A constant with more elements is a weight: none of its numbers is likely to matter by itself.
constexpr std::int64_t kMostInConstant = 64;
constexpr std::size_t kMostOfOneConstant = 8, kMostNumbers = 48;
/// Operations of one of the runs that look for stretches.
constexpr double kMostStretchWork = 2e7;
constexpr std::size_t kMostStretches = 8;
constexpr int kMostSteps = 8;
/// How far beyond the number a stretched one lies, as a share of it.
constexpr double kBeyond = 0x1p-10;

void add_number(std::vector<double>& numbers, double value) {
  if (!std::isfinite(value) || std::ranges::find(numbers, value) != numbers.end()) return;
  numbers.push_back(value);
}

/// Empty: it is no constant, or one of many elements.
std::vector<double> small_constant(const Graph& graph, TensorId id) {
  std::vector<double> values;
  if (!id.valid() || !graph.is_constant_expression(id)) return values;
  const core::Tensor& tensor = graph.tensor(id);
  if (tensor.value) {
    if (core::size_bytes(tensor.value->data_type()) == 0 || tensor.value->count() > kMostInConstant)
      return values;
    for (const double value : tensor.value->to_doubles()) add_number(values, value);
    if (values.size() > kMostOfOneConstant) values.resize(kMostOfOneConstant);
    return values;
  }
  const Node& node = graph.node(tensor.producer);
  if (node.op->movement == core::Movement::kFill) return {ops::fill_value(node)};
  if (copies_elements(node) && !node.inputs.empty()) return small_constant(graph, node.inputs[0]);
  return values;
}

/// The numbers that the node has beside its other operands.
std::vector<double> numbers_at(const Graph& graph, const Node& node) {
  std::vector<double> numbers;
  for (const auto& [name, value] : node.attributes.values())
    if (const auto* const number = std::get_if<double>(&value)) add_number(numbers, *number);
  for (const TensorId input : node.inputs)
    for (const double value : small_constant(graph, input)) add_number(numbers, value);
  return numbers;
}

/// A tensor that is scale · input + offset.
struct Line {
  TensorId tensor;
  double scale = 1, offset = 0;
  bool is_exact = true;  ///< Otherwise there is something else between, and it is a guess.
};

/// The line behind a sum, difference, product or quotient of it with one number.
Line behind(const Line& line, const Node& node, TensorId output, const Graph& graph) {
  Line next{output, line.scale, line.offset, line.is_exact};
  if (copies_elements(node)) return next;
  const ops::Arithmetic operation = ops::arithmetic_of(*node.op);
  next.is_exact = false;
  if (operation == ops::Arithmetic::kNone || node.inputs.size() != 2) return next;
  const bool is_first = node.inputs[0] == line.tensor;
  const auto numbers = small_constant(graph, node.inputs[is_first ? 1 : 0]);
  if (numbers.size() != 1) return next;
  next.is_exact = line.is_exact && (is_first || operation != ops::Arithmetic::kQuotient);
  const double number = numbers.front();
  switch (operation) {
  case ops::Arithmetic::kSum:
    next.offset += number;
    break;
  case ops::Arithmetic::kDifference:
    next.offset = is_first ? line.offset - number : number - line.offset;
    if (!is_first) next.scale = -line.scale;
    break;
  case ops::Arithmetic::kProduct:
    next.scale *= number;
    next.offset *= number;
    break;
  case ops::Arithmetic::kQuotient:
    if (is_first && number != 0) {
      next.scale /= number;
      next.offset /= number;
    }
    break;
  case ops::Arithmetic::kNone:
    break;
  }
  return next;
}

bool is_elementwise(const Node& node) {
  const ops::OpDefinition* const definition = ops::definition_of(node);
  return definition != nullptr && definition->op_class == ops::OpClass::kElementwise;
}

bool has_numbers(const Graph& graph, TensorId id) {
  return core::size_bytes(graph.tensor(id).type.data_type) > 0;
}

/// Whether its results are truths, or elements that it is given: a number decides which.
bool compares_or_clips(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (ops::is_opaque(node) || node.outputs.empty()) return false;
  const auto is_sized = [&](TensorId tensor) {
    const core::TensorType& type = graph.tensor(tensor).type;
    return type.shape_known && core::concrete(type.shape);
  };
  if (!std::ranges::all_of(node.inputs, [&](TensorId t) { return !t.valid() || is_sized(t); }) ||
      !std::ranges::all_of(node.outputs, is_sized))
    return false;
  if (graph.tensor(node.outputs[0]).type.data_type == core::DataType::kBool) return true;
  return node.op->movement == core::Movement::kNone &&
         ops::choices_of(ops::semantics_of(graph, id), node.attributes).has_value();
}

/// The landmarks of one input, first those at which something is decided; `reached`: by tensor,
/// whether it is a Line of an input.
std::vector<double> landmarks_on_lines(const Graph& graph, TensorId input,
                                       std::vector<bool>& reached) {
  std::vector<double> decisive, landmarks;
  std::vector<bool> seen(graph.tensor_bound());
  std::vector<Line> todo{{input}};
  while (!todo.empty() && decisive.size() + landmarks.size() < kMostNumbers) {
    const Line line = todo.back();
    todo.pop_back();
    if (seen[line.tensor.index()]) continue;
    seen[line.tensor.index()] = true;
    if (line.is_exact) reached[line.tensor.index()] = true;
    for (const NodeId id : graph.consumers(line.tensor)) {
      const Node& node = graph.node(id);
      if (line.scale != 0) {
        auto& found = compares_or_clips(graph, id) ? decisive : landmarks;
        for (const double sign : {1.0, -1.0})
          for (const double number : numbers_at(graph, node))
            add_number(found, (sign * number - line.offset) / line.scale);
      }
      if (ops::is_opaque(node) || !(copies_elements(node) || is_elementwise(node))) continue;
      for (const TensorId output : node.outputs)
        if (has_numbers(graph, output)) todo.push_back(behind(line, node, output, graph));
    }
  }
  for (const double value : landmarks) add_number(decisive, value);
  return decisive;
}

/// A number inside the graph, and one that it is compared with or clipped at.
struct Crossing {
  TensorId tensor;
  double number;
};

/// The crossings that no landmark of an input is for.
std::vector<Crossing> crossings_of(const Graph& graph) {
  std::vector<bool> reached(graph.tensor_bound());
  for (const TensorId input : graph.inputs()) (void)landmarks_on_lines(graph, input, reached);
  std::vector<Crossing> crossings;
  for (const NodeId id : graph.order()) {
    if (graph.is_constant_expression(id) || !compares_or_clips(graph, id)) continue;
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid() || graph.is_constant_expression(input) || reached[input.index()]) continue;
      if (!core::is_floating(graph.tensor(input).type.data_type)) continue;
      for (const double number : numbers_at(graph, graph.node(id)))
        if (number != 0) crossings.push_back({input, number});
    }
    if (crossings.size() >= kMostStretches) break;
  }
  return crossings;
}

/// Runs the graph on its ordinary inputs times a factor.
class StretchedRun {
 public:
  static std::optional<StretchedRun> make(const Graph& graph,
                                          const std::vector<Crossing>& crossings,
                                          runtime::Backend& backend, std::uint64_t seed) {
    std::vector<TensorId> outputs;
    for (const Crossing& crossing : crossings) outputs.push_back(crossing.tensor);
    core::GraphBuilder builder(graph);
    builder.set_outputs(std::move(outputs));
    auto shown = std::move(builder).finish();
    if (!shown || reference_work(*shown) > kMostStretchWork) return std::nullopt;
    auto executable = runtime::Executable::make(
        *shown, backend, {.fusion = runtime::Fusion::kNone, .hold_shared_weights = false});
    if (!executable) return std::nullopt;
    return StretchedRun(*std::move(executable), sample_inputs(graph, SampleKind::kNormal, seed));
  }

  /// By crossing; empty: it cannot be run.
  std::vector<std::vector<double>> at(double factor) {
    const auto results = executable_.run(stretched(inputs_, factor));
    return results ? to_doubles(*results) : std::vector<std::vector<double>>();
  }

 private:
  StretchedRun(runtime::Executable executable, std::vector<core::Literal> inputs)
      : executable_(std::move(executable)), inputs_(std::move(inputs)) {}

  runtime::Executable executable_;
  std::vector<core::Literal> inputs_;
};

/// The element of that sign that is the largest, so that no other one crosses before it. None:
/// there is no such element.
std::optional<std::size_t> first_to_cross(const std::vector<double>& values, double sign) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && values[i] * sign > 0 &&
        (!first || std::abs(values[i]) > std::abs(values[*first])))
      first = i;
  return first;
}

/// The factor at which that element meets the number. It is taken to grow like a power of the
/// factor, the power being that between the last two runs.
std::optional<double> factor_to(StretchedRun& run, std::size_t crossing, double number,
                                const std::vector<double>& plain) {
  const auto at = first_to_cross(plain, number);
  if (!at) return std::nullopt;
  double factor = 1, ratio = plain[*at] / number, power = 1;
  for (int step = 0; step < kMostSteps; ++step) {
    const double next = factor * std::pow(ratio, -1 / power);
    const auto values = run.at(next);
    if (values.empty()) return std::nullopt;
    const double reached = values[crossing][*at] / number;
    if (!std::isfinite(reached) || reached <= 0) return std::nullopt;
    if (std::abs(reached - 1) < kBeyond / 4) return next;
    if (reached != ratio && next != factor)
      power = std::clamp(std::log(reached / ratio) / std::log(next / factor), 0.25, 8.0);
    factor = next;
    ratio = reached;
  }
  return std::nullopt;
}

/// All finite numbers among attributes and small constants, each once; at most some dozens.
std::vector<double> numbers_of(const Graph& graph) {
  std::vector<double> numbers;
  for (const NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    for (const double number : numbers_at(graph, graph.node(id)))
      if (numbers.size() < kMostNumbers) add_number(numbers, number);
  }
  return numbers;
}

}  // namespace

std::vector<std::vector<double>> landmarks_by_input(const Graph& graph) {
  const std::vector<double> all = numbers_of(graph);
  std::vector<bool> reached(graph.tensor_bound());
  std::vector<std::vector<double>> landmarks;
  for (const TensorId input : graph.inputs()) {
    landmarks.push_back(landmarks_on_lines(graph, input, reached));
    for (const double number : all) add_number(landmarks.back(), number);
  }
  return landmarks;
}

std::vector<double> stretches_of(const Graph& graph, runtime::Backend& backend,
                                 std::uint64_t seed) {
  const std::vector<Crossing> crossings = crossings_of(graph);
  if (crossings.empty()) return {};
  auto run = StretchedRun::make(graph, crossings, backend, seed);
  if (!run) return {};
  const auto plain = run->at(1);
  std::vector<double> stretches;
  for (std::size_t k = 0; k < plain.size() && stretches.size() < kMostStretches; ++k) {
    const auto factor = factor_to(*run, k, crossings[k].number, plain[k]);
    if (!factor) continue;
    for (const double beyond : {1 + kBeyond, 1 - kBeyond}) add_number(stretches, *factor * beyond);
  }
  return stretches;
}

}  // namespace soapstone::search
