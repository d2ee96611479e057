// Whole graphs: one compiled comprehension per node, in topological order.
#include <fmt/format.h>

#include <type_traits>

#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/integers.h"

namespace soapstone::ops {
namespace {

using core::TensorId;

std::string describe(const core::Node& node) {
  return node.name.empty() ? node.op->name : fmt::format("{} '{}'", node.op->name, node.name);
}

std::string describe(const core::Tensor& tensor) {
  return tensor.name.empty() ? "a tensor without name" : fmt::format("'{}'", tensor.name);
}

template <class T>
std::vector<T> elements(const core::Literal& literal) {
  if constexpr (std::is_same_v<T, double>)
    return literal.to_doubles();
  else if constexpr (std::is_same_v<T, Integer>)
    return to_integers(literal).value();
  else
    return to_field(literal);
}

/// Exact integers know no reals.
template <class T>
core::Status check_type(const core::Tensor& tensor) {
  if (!std::is_same_v<T, Integer> || !core::is_floating(tensor.type.data_type)) return core::Done{};
  return core::unsupported(fmt::format("{} has elements of type {}, which are no integers",
                                       describe(tensor), core::to_string(tensor.type.data_type)));
}

/// An integer must be one that its element type can hold.
template <class T>
core::Status check_values(std::span<const T> values, core::DataType type) {
  if constexpr (std::is_same_v<T, Integer>)
    for (std::size_t k = 0; k < values.size(); ++k)
      if (!fits(values[k], type))
        return core::unsupported(
            fmt::format("element {} of the result {} of type {}", k,
                        values[k] == kNoInteger ? "has no integer value" : "is beyond the integers",
                        core::to_string(type)));
  return core::Done{};
}

core::Result<core::Dims> dims_of(const core::Tensor& tensor) {
  const auto dims = tensor.type.shape_known ? core::concrete(tensor.type.shape) : std::nullopt;
  if (!dims || !core::checked_element_count(*dims))
    return core::invalid_input(
        fmt::format("{} has no shape in numbers, so it cannot be computed", describe(tensor)));
  return *dims;
}

}  // namespace

template <class T>
struct GraphProgram<T>::Program {
  struct Step {
    CompiledSemantics<T> semantics;
    std::vector<TensorId> inputs, outputs;
    std::vector<TensorId> last_used;    // tensors that nobody needs after this step
    std::vector<core::DataType> types;  // of the outputs
    std::string name;                   // of the node, for messages
  };
  std::vector<Step> steps;
  std::vector<std::size_t> sizes;         // by tensor id
  std::vector<std::vector<T>> constants;  // by tensor id; empty where it is no constant
  std::vector<TensorId> inputs, outputs;

  core::Status add_constant(const core::Graph& graph, TensorId id) {
    const core::Tensor& tensor = graph.tensor(id);
    if (!tensor.value || !constants[id.index()].empty()) return core::Done{};
    if (core::size_bytes(tensor.value->data_type()) == 0)
      return core::unsupported(fmt::format("constant {} holds no numbers", describe(tensor)));
    SOAPSTONE_RETURN_IF_ERROR(check_type<T>(tensor));
    constants[id.index()] = elements<T>(*tensor.value);
    return core::Done{};
  }

  core::Status add_step(const core::Graph& graph, core::NodeId id, std::uint64_t key) {
    const core::Node& node = graph.node(id);
    if (is_opaque(node)) {
      const auto* type = node.attributes.find("op_type");
      const auto* text = type ? std::get_if<std::string>(type) : nullptr;
      return core::unsupported(fmt::format("node {} ({}) has no known meaning", describe(node),
                                           text ? *text : "of unknown type"));
    }
    std::vector<core::Dims> dims;
    for (TensorId t : node.inputs) {
      if (!t.valid()) {
        dims.emplace_back();
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(core::Dims d, dims_of(graph.tensor(t)));
      SOAPSTONE_RETURN_IF_ERROR(add_constant(graph, t));
      dims.push_back(std::move(d));
    }
    std::vector<core::DataType> types;
    for (TensorId t : node.outputs) {
      SOAPSTONE_ASSIGN_OR_RETURN(const core::Dims d, dims_of(graph.tensor(t)));
      SOAPSTONE_RETURN_IF_ERROR(check_type<T>(graph.tensor(t)));
      types.push_back(graph.tensor(t).type.data_type);
      sizes[t.index()] = static_cast<std::size_t>(core::element_count(d));
    }
    steps.push_back({CompiledSemantics<T>(semantics_of(graph, id), dims, key),
                     node.inputs,
                     node.outputs,
                     {},
                     std::move(types),
                     describe(node)});
    return core::Done{};
  }

  void find_last_uses() {
    std::vector<bool> needed(sizes.size(), false);
    for (TensorId t : outputs) needed[t.index()] = true;
    for (std::size_t s = steps.size(); s-- > 0;)
      for (const auto* ids : {&steps[s].inputs, &steps[s].outputs})
        for (TensorId t : *ids)
          if (t.valid() && !needed[t.index()]) {
            needed[t.index()] = true;
            steps[s].last_used.push_back(t);
          }
  }

  /// The values of a tensor while the program runs: given, computed, or a constant's.
  std::span<const T> view(TensorId t, std::span<const std::vector<T>> given,
                          const std::vector<std::vector<T>>& computed) const {
    if (!t.valid()) return {};
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k] == t) return given[k];
    return constants[t.index()].empty() ? computed[t.index()] : constants[t.index()];
  }
};

template <class T>
GraphProgram<T>::GraphProgram(std::unique_ptr<const Program> program)
    : program_(std::move(program)) {}
template <class T>
GraphProgram<T>::~GraphProgram() = default;
template <class T>
GraphProgram<T>::GraphProgram(GraphProgram&&) noexcept = default;

template <class T>
core::Result<GraphProgram<T>> GraphProgram<T>::compile(const core::Graph& graph,
                                                       std::uint64_t function_key) {
  auto program = std::make_unique<Program>();
  program->sizes.resize(graph.tensor_bound());
  program->constants.resize(graph.tensor_bound());
  program->inputs.assign(graph.inputs().begin(), graph.inputs().end());
  program->outputs.assign(graph.outputs().begin(), graph.outputs().end());
  for (TensorId t : program->inputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(const core::Dims dims, dims_of(graph.tensor(t)));
    SOAPSTONE_RETURN_IF_ERROR(check_type<T>(graph.tensor(t)));
    program->sizes[t.index()] = static_cast<std::size_t>(core::element_count(dims));
  }
  for (core::NodeId id : graph.order())
    SOAPSTONE_RETURN_IF_ERROR(program->add_step(graph, id, function_key));
  for (TensorId t : program->outputs) SOAPSTONE_RETURN_IF_ERROR(program->add_constant(graph, t));
  program->find_last_uses();
  return GraphProgram(std::move(program));
}

template <class T>
core::Result<std::vector<std::vector<T>>>
GraphProgram<T>::run(std::span<const std::vector<T>> inputs) const {
  const Program& p = *program_;
  if (inputs.size() != p.inputs.size())
    return core::invalid_input(
        fmt::format("the graph has {} inputs, not {}", p.inputs.size(), inputs.size()));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (const std::size_t size = p.sizes[p.inputs[k].index()]; inputs[k].size() != size)
      return core::invalid_input(
          fmt::format("input {} has {} elements, not {}", k, size, inputs[k].size()));
  std::vector<std::vector<T>> values(p.sizes.size());
  std::vector<std::span<const T>> sources;
  std::vector<std::span<T>> targets;
  for (const auto& step : p.steps) {
    sources.clear();
    targets.clear();
    for (TensorId t : step.inputs) sources.push_back(p.view(t, inputs, values));
    for (TensorId t : step.outputs) {
      values[t.index()].resize(p.sizes[t.index()]);
      targets.push_back(values[t.index()]);
    }
    if (auto done = step.semantics.run(sources, targets); !done) return done.error().at(step.name);
    for (std::size_t k = 0; k < targets.size(); ++k)
      if (auto fit = check_values<T>(targets[k], step.types[k]); !fit)
        return fit.error().at(step.name);
    for (TensorId t : step.last_used) std::vector<T>().swap(values[t.index()]);
  }
  std::vector<std::vector<T>> results;
  for (TensorId t : p.outputs) {
    const auto view = p.view(t, inputs, values);
    results.emplace_back(view.begin(), view.end());
  }
  return results;
}

template <class T>
core::Result<std::vector<std::vector<T>>> evaluate_graph(const core::Graph& graph,
                                                         std::span<const std::vector<T>> inputs,
                                                         std::uint64_t function_key) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto program, GraphProgram<T>::compile(graph, function_key));
  return program.run(inputs);
}

template class GraphProgram<double>;
template class GraphProgram<Field::Value>;
template class GraphProgram<Integer>;
template core::Result<std::vector<std::vector<double>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<double>>, std::uint64_t);
template core::Result<std::vector<std::vector<Field::Value>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<Field::Value>>, std::uint64_t);
template core::Result<std::vector<std::vector<Integer>>>
evaluate_graph(const core::Graph&, std::span<const std::vector<Integer>>, std::uint64_t);

}  // namespace soapstone::ops
