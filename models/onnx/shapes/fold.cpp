// Runs the comprehensions of a node whose inputs are known: in exact integers, or in doubles that
// are rounded to their type where reals take part.
#include "models/onnx/shapes/fold.h"

#include <algorithm>
#include <cmath>

#include "models/onnx/nodes/node_import.h"
#include "models/onnx/nodes/reader_table.h"
#include "models/onnx/shapes/integer_meanings.h"
#include "ops/evaluation/integers.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::LiteralPtr;
using core::TensorId;
using ops::Integer;
using Values = std::optional<std::vector<LiteralPtr>>;

/// The operators in which exporters compute shapes.
constexpr std::string_view kFolded[] = {"Abs",
                                        "Add",
                                        "And",
                                        "Cast",
                                        "Ceil",
                                        "Concat",
                                        "Div",
                                        "Equal",
                                        "Expand",
                                        "Flatten",
                                        "Floor",
                                        "ConstantOfShape",
                                        "Gather",
                                        "Greater",
                                        "Identity",
                                        "Less",
                                        "GreaterOrEqual",
                                        "LessOrEqual",
                                        "Max",
                                        "Min",
                                        "Mod",
                                        "Mul",
                                        "Neg",
                                        "NonZero",
                                        "Not",
                                        "Or",
                                        "Range",
                                        "ReduceMax",
                                        "ReduceMin",
                                        "ReduceProd",
                                        "ReduceSum",
                                        "Reshape",
                                        "Round",
                                        "Shape",
                                        "Size",
                                        "Slice",
                                        "Split",
                                        "Sqrt",
                                        "Squeeze",
                                        "Sub",
                                        "Tile",
                                        "Transpose",
                                        "Trilu",
                                        "Unsqueeze",
                                        "Where"};

LiteralPtr share(core::Literal value) {
  return std::make_shared<const core::Literal>(std::move(value));
}

bool reads_types_alone(const onnx::NodeProto& node) {
  return node.op_type() == "Shape" || node.op_type() == "Size";
}

bool is_known(const FoldInput& input) {
  if (!input.value || input.value->count() > kMostFoldedElements) return false;
  const DataType type = input.value->data_type();
  const bool is_wide = type == DataType::kFloat32 || type == DataType::kFloat64;
  return core::size_bytes(type) != 0 && type != DataType::kUInt64 &&
         (is_wide || !core::is_floating(type));
}

/// A reduction of reals depends on its order; a constant of f32 zeros is better left as `full`.
bool is_inexact_or_useless(const onnx::NodeProto& node, std::span<const FoldInput> inputs) {
  if (node.op_type() == "ConstantOfShape") return node.attribute().empty();
  return node.op_type().starts_with("Reduce") && core::is_floating(inputs[0].type.data_type);
}

// --- Values -------------------------------------------------------------------------------------

/// Reals are those of a Range, which are whole numbers.
LiteralPtr literal_of(DataType type, const core::Dims& dims, std::span<const Integer> values) {
  const std::vector<double> reals(values.begin(), values.end());
  if (type == DataType::kFloat64)
    return share(core::Literal::copy(type, dims, std::as_bytes(std::span(reals))));
  if (type == DataType::kFloat32)
    return share(core::Literal::floats(dims, std::vector<float>(reals.begin(), reals.end())));
  auto literal = ops::to_literal(type, dims, values);
  return literal ? share(*std::move(literal)) : nullptr;
}

/// Whether doubles have the very same elements.
bool is_exact_in_doubles(const core::Literal& literal) {
  const auto elements = literal.to_ints();
  return !elements || std::ranges::all_of(*elements, [](std::int64_t v) {
    const auto real = static_cast<double>(v);
    return std::fabs(real) < 0x1p63 && static_cast<std::int64_t>(real) == v;
  });
}

/// Null if an integer does not exist or does not fit.
LiteralPtr literal_of(DataType type, const core::Dims& dims, const std::vector<double>& values) {
  if (type == DataType::kFloat64)
    return share(core::Literal::copy(type, dims, std::as_bytes(std::span(values))));
  if (type == DataType::kFloat32)
    return share(core::Literal::floats(dims, std::vector<float>(values.begin(), values.end())));
  if (core::is_floating(type)) return nullptr;
  std::vector<Integer> integers;
  for (double value : values)
    integers.push_back(std::fabs(value) < 0x1p63 ? static_cast<Integer>(value) : ops::kNoInteger);
  return literal_of(type, dims, integers);
}

/// Each of our operators that is read from one of these ONNX operators rounds once, so doubles that
/// are rounded at the end are what the operator yields.
template <class T>
Values evaluate_in(const core::Graph& graph) {
  const auto results = ops::evaluate_graph<T>(graph, {});
  if (!results) return std::nullopt;
  std::vector<LiteralPtr> literals;
  for (std::size_t k = 0; k < results->size(); ++k) {
    const core::TensorType& type = graph.tensor(graph.outputs()[k]).type;
    literals.push_back(literal_of(type.data_type, *core::concrete(type.shape), (*results)[k]));
    if (!literals.back()) return std::nullopt;
  }
  return literals;
}

// --- Nodes --------------------------------------------------------------------------------------

Values evaluate(const IntegerMeaning& meaning, std::span<const FoldInput> inputs) {
  const auto count = core::checked_element_count(meaning.dims);
  if (!count || *count > kMostFoldedElements) return std::nullopt;
  std::vector<std::vector<Integer>> elements;
  std::vector<core::Dims> dims;
  for (std::size_t k = 0; k < meaning.semantics.input_count; ++k) {
    elements.push_back(ops::to_integers(*inputs[k].value).value_or(std::vector<Integer>()));
    dims.push_back(inputs[k].value->dims());
  }
  std::vector<Integer> results(static_cast<std::size_t>(*count));
  const std::vector<std::span<const Integer>> sources(elements.begin(), elements.end());
  const std::vector<std::span<Integer>> targets{results};
  const ops::CompiledSemantics<Integer> program(meaning.semantics, dims);
  if (!program.run(sources, targets)) return std::nullopt;
  auto literal = literal_of(meaning.type, meaning.dims, results);
  return literal ? Values({std::move(literal)}) : std::nullopt;
}

/// Whether the graph is small enough to be run, and whether reals are in it.
struct GraphContents {
  bool is_bearable = true, is_exact = true, has_reals = false;

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
    is_exact &= !tensor.value || is_exact_in_doubles(*tensor.value);
    has_reals |= core::is_floating(tensor.type.data_type);
  }
};

Values evaluate(const core::Graph& graph) {
  const GraphContents contents(graph);
  if (!contents.is_bearable) return std::nullopt;
  if (graph.order().empty()) {  // the node passes on what it reads
    std::vector<LiteralPtr> literals;
    for (TensorId t : graph.outputs()) literals.push_back(graph.tensor(t).value);
    return literals;
  }
  if (!contents.has_reals) return evaluate_in<Integer>(graph);
  return contents.is_exact ? evaluate_in<double>(graph) : std::nullopt;
}

/// What the reader of the operator makes of the node, or none if it refuses it.
Values evaluate_as_read(const onnx::NodeProto& node, NodeImport& import,
                        core::GraphBuilder&& builder) {
  const auto* reader = ReaderTable::get().find(node.domain(), node.op_type(), import.opset());
  if (!reader) return std::nullopt;
  auto results = reader->read(import);
  if (!results || std::ranges::any_of(*results, [](TensorId id) { return !id.valid(); }))
    return std::nullopt;
  builder.set_outputs(*std::move(results));
  const auto graph = std::move(builder).finish();
  return graph ? evaluate(*graph) : std::nullopt;
}

/// Precondition: the values of all inputs are known.
Values evaluate_node(const onnx::NodeProto& node, NodeImport& import, core::GraphBuilder&& builder,
                     std::span<const FoldInput> inputs) {
  if (node.op_type() == "NonZero") {
    auto positions = positions_of_non_zeros(*inputs[0].value);
    return positions ? Values({share(*std::move(positions))}) : std::nullopt;
  }
  if (const auto meaning = integer_meaning(import)) return evaluate(*meaning, inputs);
  return evaluate_as_read(node, import, std::move(builder));
}

}  // namespace

bool has_fold(const onnx::NodeProto& node) {
  return node.domain().empty() && std::ranges::find(kFolded, node.op_type()) != std::end(kFolded);
}

Values fold(const onnx::NodeProto& node, int opset, std::span<const FoldInput> inputs,
            ExternalFiles& files) {
  if (!has_fold(node) || inputs.empty() || !inputs[0].present) return std::nullopt;
  const bool by_type = reads_types_alone(node);
  core::GraphBuilder builder;
  std::vector<TensorId> ids;
  for (const FoldInput& input : inputs) {
    if (!by_type && input.present && !is_known(input)) return std::nullopt;
    const bool has_value = !by_type && input.present;
    ids.push_back(has_value ? builder.add_constant(input.value) : TensorId::none());
  }
  NodeImport import(node, opset, builder, std::move(ids), files);
  if (!import.read_attributes()) return std::nullopt;
  if (by_type) {
    auto value = value_of_type(import, inputs[0].type);
    return value ? Values({share(*std::move(value))}) : std::nullopt;
  }
  if (is_inexact_or_useless(node, inputs)) return std::nullopt;
  Values values = evaluate_node(node, import, std::move(builder), inputs);
  return values && std::ssize(*values) >= node.output_size() ? values : std::nullopt;
}

}  // namespace soapstone::models
