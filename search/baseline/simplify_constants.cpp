// Weights that `full` or `eye` describes, so that a rule whose source has such a node meets them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "ops/definition/by_role.h"
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Literal;
using core::TensorId;

/// The value of `full`, if it is the very same.
std::optional<double> only_value(const Literal& literal) {
  const std::span<const std::byte> bytes = literal.bytes();
  const float first = literal.as<float>()[0];
  const bool uniform =
      std::memcmp(bytes.data(), bytes.data() + sizeof(float), bytes.size() - sizeof(float)) == 0;
  return uniform ? as_attribute(first) : std::nullopt;
}

bool is_eye(const Literal& literal) {
  const core::Dims& dims = literal.dims();
  if (dims.size() < 2) return false;
  std::size_t window = 1, center = 0;
  for (std::size_t d = 2; d < dims.size(); ++d) {
    center = center * static_cast<std::size_t>(dims[d]) + static_cast<std::size_t>(dims[d] - 1) / 2;
    window *= static_cast<std::size_t>(dims[d]);
  }
  const auto columns = static_cast<std::size_t>(dims[1]);
  const std::span<const float> values = literal.as<float>();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t at = k / window;
    const bool one = k % window == center && at / columns == at % columns;
    if (values[k] != (one ? 1.0F : 0.0F) || std::signbit(values[k])) return false;
  }
  return true;
}

/// An opaque node may want its constants as constants, and a result keeps its name.
bool may_be_named(const Graph& graph, TensorId id) {
  const auto& readers = graph.consumers(id);
  return !graph.is_output(id) && std::none_of(readers.begin(), readers.end(), [&](auto reader) {
    return ops::is_opaque(graph.node(reader));
  });
}

/// Whether append_named() has a node for it.
bool has_name(const Literal& literal) {
  // Rules name single numbers by their value.
  return literal.data_type() == core::DataType::kFloat32 && literal.count() >= 2 &&
         (only_value(literal).has_value() || is_eye(literal));
}

core::Result<TensorId> append_named(core::GraphBuilder& builder, const Literal& literal) {
  const core::Shape shape = ops::to_sizes(literal.dims());
  const auto value = only_value(literal);
  return value ? ops::append_filled(builder, shape, *value) : ops::append_diagonal(builder, shape);
}

}  // namespace

std::optional<double> as_attribute(float number) {
  if (!ops::is_representable(number) || (number == 0 && std::signbit(number))) return std::nullopt;
  const double value = ops::shortest_decimal(number);
  return static_cast<float>(value) == number ? std::optional(value) : std::nullopt;
}

Graph name_constants(const Graph& graph) {
  std::optional<core::GraphBuilder> builder;
  for (std::size_t i = 0; i < graph.tensor_bound(); ++i) {
    const TensorId id(i);
    if (!graph.contains(id) || !graph.tensor(id).value || !may_be_named(graph, id)) continue;
    if (!has_name(*graph.tensor(id).value)) continue;
    if (!builder) builder.emplace(graph);
    const auto made = append_named(*builder, *graph.tensor(id).value);
    CHECK(made.ok(), "a constant has the shape of another");
    builder->replace_uses(id, *made);
    builder->set_name(*made, graph.tensor(id).name);
  }
  if (!builder) return graph;
  auto result = std::move(*builder).finish();
  CHECK(result.ok(), "naming constants cannot break a graph");
  return *std::move(result);
}

}  // namespace soapstone::search
