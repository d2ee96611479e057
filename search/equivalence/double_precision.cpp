// See double_precision.h. The reference kernels compute every node in doubles; with tensors of
// doubles nothing is rounded between nodes either.
#include "search/equivalence/double_precision.h"

#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/graph/float_format.h"
#include "ops/analysis/analysis.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"

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

}  // namespace

Graph in_double_precision(const Graph& graph) {
  core::GraphBuilder builder({}, graph.symbols());
  std::vector<TensorId> mine(graph.tensor_bound());
  for (const TensorId id : graph.inputs())
    mine[id.index()] = builder.add_input(graph.tensor(id).name, widened(graph.tensor(id).type));
  const auto id_of = [&](TensorId id) {
    if (!id.valid()) return id;
    TensorId& known = mine[id.index()];
    if (!known.valid()) known = builder.add_constant(widened(graph.tensor(id).value));
    return known;
  };
  for (const core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    std::vector<TensorId> inputs;
    std::vector<core::TensorType> types;
    for (const TensorId input : node.inputs) inputs.push_back(id_of(input));
    for (const TensorId output : node.outputs) types.push_back(widened(graph.tensor(output).type));
    const core::Attributes attributes = exact(node, graph.tensor(node.outputs[0]).type.data_type);
    const auto made =
        builder.add_node(*node.op, attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < made.size(); ++k) mine[node.outputs[k].index()] = made[k];
  }
  std::vector<TensorId> outputs;
  for (const TensorId id : graph.outputs()) outputs.push_back(id_of(id));
  builder.set_outputs(std::move(outputs));
  auto result = std::move(builder).finish();
  CHECK(result.ok(), "a copy of a graph is a graph");
  return *std::move(result);
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

double constant_elements(const Graph& graph) {
  double count = 0;
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!graph.contains(id) || !graph.is_constant_expression(id)) continue;
    if (const auto dims = core::concrete(graph.tensor(id).type.shape))
      count += static_cast<double>(core::element_count(*dims));
  }
  return count;
}

struct DoublePrecision::State {
  Graph graph;
  std::unique_ptr<runtime::Backend> backend = runtime::make_reference_backend();
  std::optional<runtime::Executable> executable;
};

DoublePrecision::DoublePrecision(const Graph& graph, double most_work) {
  if (reference_work(graph) > most_work || constant_elements(graph) > kMostConstants) return;
  auto state = std::make_unique<State>();
  state->graph = in_double_precision(graph);
  auto executable = runtime::Executable::make(state->graph, *state->backend);
  if (!executable) return;
  state->executable.emplace(*std::move(executable));
  state_ = std::move(state);
}

DoublePrecision::~DoublePrecision() = default;
DoublePrecision::DoublePrecision(DoublePrecision&&) noexcept = default;

bool DoublePrecision::is_affordable() const { return state_ != nullptr; }

std::optional<std::vector<std::vector<double>>>
DoublePrecision::run(const std::vector<Literal>& inputs) {
  if (!state_) return std::nullopt;
  std::vector<Literal> wide;
  for (const Literal& input : inputs)
    wide.push_back(*widened(std::make_shared<const Literal>(input)));
  auto results = state_->executable->run(wide);
  if (!results) return std::nullopt;
  std::vector<std::vector<double>> values;
  for (const Literal& result : *results) values.push_back(result.to_doubles());
  return values;
}

}  // namespace soapstone::search
