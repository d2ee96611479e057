// See double_precision.h. The reference kernels compute every node in doubles; with tensors of
// doubles nothing is rounded between nodes either.
#include "search/equivalence/double_precision.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/graph/float_format.h"
#include "ops/analysis/analysis.h"
#include "ops/analysis/arithmetic.h"
#include "ops/analysis/choices.h"
#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/rounding.h"
#include "search/equivalence/sample_inputs.h"
#include "search/equivalence/value_roles.h"

namespace soapstone::search {
namespace {

using core::DataType;
using core::Graph;
using core::Literal;
using core::TensorId;

/// A function or a comparison of indices takes the reference kernels as long as so many
/// multiplications.
constexpr double kPerElement = 30;
/// Held twice, eight bytes each.
constexpr double kMostConstants = 3e7;

bool is_narrow(DataType type) { return core::is_floating(type) && type != DataType::kFloat64; }

core::TensorType widened(core::TensorType type) {
  if (is_narrow(type.data_type)) type.data_type = DataType::kFloat64;
  return type;
}

core::LiteralPtr widened(const core::LiteralPtr& value) {
  if (!is_narrow(value->data_type())) return value;
  const std::vector<double> elements = value->to_doubles();
  return std::make_shared<const Literal>(
      Literal::copy(DataType::kFloat64, value->dims(), std::as_bytes(std::span(elements))));
}

/// What a node without operands fills a tensor with has the digits of its type: the constant that
/// it stands for has no others.
core::Attributes exact(const core::Node& node, DataType type) {
  core::Attributes attributes = node.attributes;
  if (!node.inputs.empty() || !is_narrow(type)) return attributes;
  for (const auto& [name, value] : node.attributes.values())
    if (const auto* const number = std::get_if<double>(&value))
      attributes.set(name, core::rounded_to(core::format_of(type), *number));
  return attributes;
}

/// A copy of a graph with wider types.
class WideCopy {
 public:
  /// `noise`: what each factor rounds to, if there are any.
  /// `exact`: by tensor, whether rounding leaves it alone.
  WideCopy(const Graph& graph, std::vector<DataType>* noise, std::vector<bool> exact = {})
      : graph_(graph), noise_(noise), exact_(std::move(exact)), builder_({}, graph.symbols()),
        mine_(graph.tensor_bound()) {}

  Graph run() {
    for (const TensorId id : graph_.inputs())
      mine_[id.index()] =
          builder_.add_input(graph_.tensor(id).name, widened(graph_.tensor(id).type));
    for (const core::NodeId id : graph_.order()) copy(graph_.node(id));
    std::vector<TensorId> outputs;
    for (const TensorId id : graph_.outputs()) outputs.push_back(id_of(id));
    builder_.set_outputs(std::move(outputs));
    auto result = std::move(builder_).finish();
    CHECK(result.ok(), "a copy of a graph is a graph");
    return *std::move(result);
  }

 private:
  void copy(const core::Node& node) {
    std::vector<TensorId> inputs;
    std::vector<core::TensorType> types;
    for (const TensorId input : node.inputs) inputs.push_back(id_of(input));
    for (const TensorId output : node.outputs) types.push_back(widened(graph_.tensor(output).type));
    const core::Attributes attributes = exact(node, graph_.tensor(node.outputs[0]).type.data_type);
    const auto made =
        builder_.add_node(*node.op, attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < made.size(); ++k) {
      const std::size_t output = node.outputs[k].index();
      const bool is_exact = output < exact_.size() && exact_[output];
      mine_[output] =
          is_exact ? made[k] : off_by_chance(made[k], graph_.tensor(node.outputs[k]).type);
    }
  }

  TensorId id_of(TensorId id) {
    if (!id.valid()) return id;
    TensorId& known = mine_[id.index()];
    if (known.valid()) return known;
    const core::Tensor& constant = graph_.tensor(id);
    known = builder_.add_constant(widened(constant.value));
    // What has fewer dimensions may be sizes and not quantities.
    if (constant.type.shape.size() >= 2) known = off_by_chance(known, constant.type);
    return known;
  }

  TensorId off_by_chance(TensorId id, const core::TensorType& type) {
    if (noise_ == nullptr || !core::is_floating(type.data_type) || !core::concrete(type.shape))
      return id;
    const TensorId factor =
        builder_.add_input(fmt::format("noise_{}", noise_->size()), widened(type));
    noise_->push_back(type.data_type);
    return ops::append_product(builder_, id, factor).value();
  }

  const Graph& graph_;
  std::vector<DataType>* noise_;
  std::vector<bool> exact_;
  core::GraphBuilder builder_;
  std::vector<TensorId> mine_;
};

/// Whether copies, choices, sums and products of numbers of few digits, or integers, are all that
/// the node computes, if its operands are such.
bool keeps_exact(const Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  if (ops::is_opaque(node)) return false;
  const bool has_long_number =
      std::ranges::any_of(node.attributes.values(), [](const auto& attribute) {
        const auto* const number = std::get_if<double>(&attribute.second);
        return number != nullptr && std::isfinite(*number) && !is_short(*number);
      });
  if (has_long_number) return false;
  const ops::Arithmetic operation = ops::arithmetic_of(*node.op);
  if (operation == ops::Arithmetic::kQuotient) return false;
  return operation != ops::Arithmetic::kNone || copies_elements(node) ||
         node.op->movement == core::Movement::kChoose ||
         ops::choices_of(ops::semantics_of(graph, id), node.attributes).has_value();
}

/// A constant with more elements is a weight, which has digits.
constexpr std::int64_t kMostExactNumbers = 64;

/// By tensor: whether rounding leaves it alone where the inputs are numbers of few digits.
std::vector<bool> exact_tensors(const Graph& graph) {
  std::vector<bool> exact(graph.tensor_bound());
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const TensorId id(k);
    if (!graph.contains(id)) continue;
    const core::Tensor& tensor = graph.tensor(id);
    const bool is_number = tensor.value && core::size_bytes(tensor.value->data_type()) > 0 &&
                           tensor.value->count() <= kMostExactNumbers;
    exact[k] = is_number && std::ranges::all_of(tensor.value->to_doubles(), is_short);
  }
  for (const TensorId id : graph.inputs()) exact[id.index()] = true;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    const bool of_exact = std::ranges::all_of(
        node.inputs, [&](TensorId input) { return !input.valid() || exact[input.index()]; });
    if (!of_exact || !keeps_exact(graph, id)) continue;
    for (const TensorId output : node.outputs) exact[output.index()] = true;
  }
  return exact;
}

Literal noise(const core::TensorType& type, DataType rounded_to, std::mt19937_64& random) {
  const core::Dims dims = core::concrete(type.shape).value();
  std::vector<double> factors(static_cast<std::size_t>(core::element_count(dims)));
  for (double& factor : factors)
    factor = 1 + spacing(rounded_to) * (2 * core::draw_uniform(random) - 1);
  return Literal::copy(DataType::kFloat64, dims, std::as_bytes(std::span(factors)));
}

}  // namespace

Graph in_double_precision(const Graph& graph) { return WideCopy(graph, nullptr).run(); }

NoisyGraph with_noise(const Graph& graph, bool short_inputs) {
  std::vector<DataType> types;
  Graph noisy =
      WideCopy(graph, &types, short_inputs ? exact_tensors(graph) : std::vector<bool>()).run();
  return {std::move(noisy), std::move(types)};
}

double reference_work(const Graph& graph) {
  double work = 0;
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (ops::is_opaque(node)) continue;
    work += ops::work_of(graph, id).flops;
    for (const TensorId output : node.outputs)
      if (const auto dims = core::concrete(graph.tensor(output).type.shape))
        work += kPerElement * static_cast<double>(core::element_count(*dims));
  }
  return work;
}

namespace {

double elements(const Graph& graph, bool of_constants) {
  double count = 0;
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!graph.contains(id) || graph.is_constant_expression(id) != of_constants) continue;
    if (const auto dims = core::concrete(graph.tensor(id).type.shape))
      count += static_cast<double>(core::element_count(*dims));
  }
  return count;
}

double result_elements(const Graph& graph) { return elements(graph, false); }

}  // namespace

double constant_elements(const Graph& graph) { return elements(graph, true); }

struct DoublePrecision::State {
  Graph graph;
  std::vector<DataType> noise;
  std::unique_ptr<runtime::Backend> backend = runtime::make_reference_backend();
  std::optional<runtime::Executable> executable;
};

DoublePrecision::DoublePrecision(const Graph& graph, double most_work, Between between) {
  if (reference_work(graph) > most_work || constant_elements(graph) > kMostConstants) return;
  auto state = std::make_unique<State>();
  if (between != Between::kExact) {
    if (result_elements(graph) > kMostConstants) return;
    NoisyGraph noisy = with_noise(graph, between == Between::kNoiseBehindShort);
    state->graph = std::move(noisy.graph);
    state->noise = std::move(noisy.types);
  } else {
    state->graph = in_double_precision(graph);
  }
  auto executable = runtime::Executable::make(state->graph, *state->backend);
  if (!executable) return;
  state->executable.emplace(*std::move(executable));
  state_ = std::move(state);
}

DoublePrecision::~DoublePrecision() = default;
DoublePrecision::DoublePrecision(DoublePrecision&&) noexcept = default;

bool DoublePrecision::is_affordable() const { return state_ != nullptr; }

std::optional<std::vector<std::vector<double>>>
DoublePrecision::run(const std::vector<Literal>& inputs, std::uint64_t seed) {
  if (!state_) return std::nullopt;
  std::vector<Literal> wide;
  for (const Literal& input : inputs)
    wide.push_back(*widened(std::make_shared<const Literal>(input)));
  std::mt19937_64 random(seed);
  for (std::size_t k = 0; k < state_->noise.size(); ++k) {
    const TensorId factor = state_->graph.inputs()[inputs.size() + k];
    wide.push_back(noise(state_->graph.tensor(factor).type, state_->noise[k], random));
  }
  auto results = state_->executable->run(wide);
  if (!results) return std::nullopt;
  return to_doubles(*results);
}

}  // namespace soapstone::search
