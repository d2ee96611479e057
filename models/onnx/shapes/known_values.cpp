// Runs the evaluator of comprehensions on constants and makes constants of its results.
#include "models/onnx/shapes/known_values.h"

#include <algorithm>
#include <cmath>

#include "ops/evaluation/integers.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::LiteralPtr;
using core::TensorId;
using ops::Integer;

LiteralPtr share(core::Literal value) {
  return std::make_shared<const core::Literal>(std::move(value));
}

/// Null if an integer does not exist or does not fit.
LiteralPtr literal_of(DataType type, const core::Dims& dims, std::span<const Integer> values) {
  auto literal = ops::to_literal(type, dims, values);
  return literal ? share(*std::move(literal)) : nullptr;
}

LiteralPtr literal_of(DataType type, const core::Dims& dims, std::span<const double> values) {
  if (type == DataType::kFloat64)
    return share(core::Literal::copy(type, dims, std::as_bytes(values)));
  if (type == DataType::kFloat32)
    return share(core::Literal::floats(dims, std::vector<float>(values.begin(), values.end())));
  if (core::is_floating(type)) return nullptr;
  std::vector<Integer> integers;
  for (double value : values)
    integers.push_back(std::fabs(value) < 0x1p63 ? static_cast<Integer>(value) : ops::kNoInteger);
  return literal_of(type, dims, integers);
}

/// Each of our operators that is read from an operator of shape arithmetic rounds once, so doubles
/// that are rounded at the end are what it yields.
template <class T>
KnownValues evaluated(const core::Graph& graph) {
  const auto results = ops::evaluate_graph<T>(graph, {});
  if (!results) return std::nullopt;
  std::vector<LiteralPtr> literals;
  for (std::size_t k = 0; k < results->size(); ++k) {
    const core::TensorType& type = graph.tensor(graph.outputs()[k]).type;
    const std::span<const T> values = (*results)[k];
    literals.push_back(literal_of(type.data_type, *core::concrete(type.shape), values));
    if (!literals.back()) return std::nullopt;
  }
  return literals;
}

/// Whether doubles have the very same elements.
bool is_exact_in_doubles(const core::Literal& literal) {
  const auto elements = literal.to_ints();
  return !elements || std::ranges::all_of(*elements, [](std::int64_t v) {
    const auto real = static_cast<double>(v);
    return std::fabs(real) < 0x1p63 && static_cast<std::int64_t>(real) == v;
  });
}

/// Decides how a graph is evaluated, if at all.
struct GraphContents {
  bool is_bearable = true, is_exact_in_doubles = true, has_reals = false;

  explicit GraphContents(const core::Graph& graph) {
    for (core::NodeId id : graph.order()) {
      for (TensorId t : graph.node(id).inputs)
        if (t.valid()) add(graph.tensor(t));
      for (TensorId t : graph.node(id).outputs) add(graph.tensor(t));
    }
  }

 private:
  void add(const core::Tensor& tensor) {
    const auto dims = core::concrete(tensor.type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    is_bearable &= count && *count <= kMostFoldedElements;
    is_exact_in_doubles &= !tensor.value || models::is_exact_in_doubles(*tensor.value);
    has_reals |= core::is_floating(tensor.type.data_type);
  }
};

}  // namespace

KnownValues known_values(const core::Graph& graph) {
  const GraphContents contents(graph);
  if (!contents.is_bearable) return std::nullopt;
  if (graph.order().empty()) {  // nothing but constants
    std::vector<LiteralPtr> literals;
    for (TensorId t : graph.outputs()) literals.push_back(graph.tensor(t).value);
    return literals;
  }
  if (!contents.has_reals) return evaluated<Integer>(graph);
  return contents.is_exact_in_doubles ? evaluated<double>(graph) : std::nullopt;
}

KnownValues known_values(const IntegerMeaning& meaning, std::span<const LiteralPtr> inputs) {
  const auto count = core::checked_element_count(meaning.dims);
  if (!count || *count > kMostFoldedElements) return std::nullopt;
  std::vector<std::vector<Integer>> elements;
  std::vector<core::Dims> dims;
  for (std::size_t k = 0; k < meaning.semantics.input_count; ++k) {
    auto integers = ops::to_integers(*inputs[k]);
    if (!integers) return std::nullopt;
    elements.push_back(*std::move(integers));
    dims.push_back(inputs[k]->dims());
  }
  std::vector<Integer> results(static_cast<std::size_t>(*count));
  const std::vector<std::span<const Integer>> sources(elements.begin(), elements.end());
  const std::vector<std::span<Integer>> targets{results};
  const ops::CompiledSemantics<Integer> program(meaning.semantics, dims);
  if (!program.run(sources, targets)) return std::nullopt;
  LiteralPtr literal;
  if (core::is_floating(meaning.type)) {
    const std::vector<double> reals(results.begin(), results.end());
    literal = literal_of(meaning.type, meaning.dims, std::span<const double>(reals));
  } else {
    literal = literal_of(meaning.type, meaning.dims, std::span<const Integer>(results));
  }
  return literal ? KnownValues({std::move(literal)}) : std::nullopt;
}

LiteralPtr converted(const core::Literal& literal, DataType type) {
  const auto elements = ops::to_integers(literal);
  return elements ? literal_of(type, literal.dims(), std::span<const Integer>(*elements)) : nullptr;
}

}  // namespace soapstone::models
