// See replay.h. All floating tensors are doubles here, so that no rounding is mistaken for a
// difference.
#include "verifier/refutation/replay.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/execution/elements.h"
#include "runtime/execution/executor.h"

namespace soapstone::verifier {
namespace {

using core::Graph;
using core::TensorId;
using core::TensorType;

TensorType in_doubles(TensorType type) {
  if (core::is_floating(type.data_type)) type.data_type = core::DataType::kFloat64;
  return type;
}

core::Literal literal_of(const TensorType& type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * core::size_bytes(type.data_type));
  runtime::store_elements(type, runtime::Layout::kRowMajor, values, bytes.data());
  return core::Literal::copy(type.data_type, *core::concrete(type.shape), bytes);
}

/// The same graph over doubles.
core::Result<Graph> in_doubles(const Graph& side) {
  core::GraphBuilder builder(side.name(), side.symbols());
  std::vector<TensorId> mine(side.tensor_bound());
  for (TensorId id : side.inputs())
    mine[id.index()] = builder.add_input(side.tensor(id).name, in_doubles(side.tensor(id).type));
  const auto id_of = [&](TensorId id) {
    if (id.valid() && !mine[id.index()].valid()) {
      const core::Tensor& constant = side.tensor(id);
      mine[id.index()] = builder.add_constant(std::make_shared<const core::Literal>(
          literal_of(in_doubles(constant.type), constant.value->to_doubles())));
    }
    return id.valid() ? mine[id.index()] : id;
  };
  for (core::NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    std::vector<TensorId> inputs;
    for (TensorId input : node.inputs) inputs.push_back(id_of(input));
    std::vector<TensorType> types;
    for (TensorId output : node.outputs) types.push_back(in_doubles(side.tensor(output).type));
    const auto outputs =
        builder.add_node(*node.op, node.attributes, std::move(inputs), std::move(types), node.name);
    for (std::size_t k = 0; k < outputs.size(); ++k) mine[node.outputs[k].index()] = outputs[k];
  }
  std::vector<TensorId> outputs;
  for (TensorId id : side.outputs()) outputs.push_back(id_of(id));
  builder.set_outputs(std::move(outputs));
  return std::move(builder).finish();
}

core::Result<std::vector<core::Literal>> run(const Graph& side,
                                             std::span<const core::Literal> inputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Graph doubles, in_doubles(side));
  const auto backend = runtime::make_reference_backend();
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::make(doubles, *backend));
  return executable.run(inputs);
}

// Text.

std::string number_text(double value) {
  return std::isnan(value) ? "not a number" : fmt::format("{}", value);
}

/// `[[1, 0], [2, 3]]`
std::string nested(std::span<const double> values, std::span<const std::int64_t> dims) {
  if (dims.empty()) return number_text(values[0]);
  std::string text = "[";
  const auto count = static_cast<std::size_t>(dims[0]);
  const std::size_t step = count == 0 ? 0 : values.size() / count;
  for (std::size_t k = 0; k < count; ++k)
    text += (k == 0 ? "" : ", ") + nested(values.subspan(k * step, step), dims.subspan(1));
  return text + "]";
}

/// `0, 2`
std::string index_text(std::size_t element, const core::Dims& dims) {
  std::vector<std::string> index(dims.size());
  auto rest = static_cast<std::int64_t>(element);
  for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
    index[d] = std::to_string(rest % dims[d]);
  return fmt::format("{}", fmt::join(index, ", "));
}

std::string input_text(const std::string& name, const core::Dims& dims,
                       const std::vector<double>& values) {
  constexpr std::size_t kMostWritten = 256;
  std::string text = fmt::format("{}{} = ", name, core::to_string(dims));
  if (values.size() <= kMostWritten) return text + nested(values, dims);
  text += "0";
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values[k] != 0)
      text += fmt::format(", but [{}] = {}", index_text(k, dims), number_text(values[k]));
  return text;
}

std::string text_of(const Refutation& refutation, const SidesAtSizes& sides,
                    const InputValues& inputs) {
  std::string text = sizes_text(refutation.sizes);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    text += input_text(refutation.inputs[k].first, refutation.inputs[k].second->dims(), inputs[k]) +
            "\n";
  const core::Tensor& output = sides.source().tensor(sides.source().outputs()[refutation.output]);
  return text + fmt::format("{}[{}] is {} in the source but {} in the target", output.name,
                            index_text(refutation.element, *core::concrete(output.type.shape)),
                            number_text(refutation.source), number_text(refutation.target));
}

bool are_different(double a, double b) {
  constexpr double kTolerance = 1e-8;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isfinite(a) != std::isfinite(b);
  return std::fabs(a - b) > kTolerance * std::max(std::fabs(a), std::fabs(b));
}

}  // namespace

std::string sizes_text(const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
  std::vector<std::string> each;
  for (const auto& [name, size] : sizes) each.push_back(fmt::format("{} = {}", name, size));
  return each.empty() ? "" : fmt::format("{}\n", fmt::join(each, ", "));
}

std::optional<Refutation> replay(const SidesAtSizes& sides, const InputValues& inputs,
                                 const Difference& expected,
                                 std::vector<std::pair<std::string, std::int64_t>> sizes) {
  Refutation refutation;
  refutation.sizes = std::move(sizes);
  std::vector<core::Literal> literals;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const core::Tensor& input = sides.source().tensor(sides.source().inputs()[k]);
    literals.push_back(literal_of(in_doubles(input.type), inputs[k]));
    refutation.inputs.emplace_back(input.name,
                                   std::make_shared<const core::Literal>(literals.back()));
  }
  const auto left = run(sides.source(), literals), right = run(sides.target(), literals);
  if (!left || !right) return std::nullopt;
  refutation.output = expected.output;
  refutation.element = expected.element;
  refutation.source = (*left)[expected.output].to_doubles()[expected.element];
  refutation.target = (*right)[expected.output].to_doubles()[expected.element];
  if (!are_different(refutation.source, refutation.target)) return std::nullopt;
  refutation.text = text_of(refutation, sides, inputs);
  return refutation;
}

}  // namespace soapstone::verifier
