// Constants of f32 that exporters repeat to the shape of what they are combined with: biases folded
// behind an Expand, the zeros of an initial state. Rules name them by their shape, such as a bias
// by channels, and they take memory that nobody needs.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ops/definition/registry.h"
#include "search/baseline/simplify.h"

namespace soapstone::search {
namespace {

using core::Dims;
using core::Graph;
using core::Literal;
using core::TensorId;

bool has_several_floats(const core::LiteralPtr& value) {
  return value && value->data_type() == core::DataType::kFloat32 && value->count() >= 2;
}

/// Whether all readers combine it elementwise with an operand that has their result's shape, and is
/// no weight: that one might become narrow, too.
bool is_repeated_by_readers(const Graph& graph, TensorId id) {
  const auto repeats = [&](core::NodeId reader) {
    const core::Node& node = graph.node(reader);
    const ops::OpDefinition* const op = ops::definition_of(node);
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise) return false;
    const core::TensorType& result = graph.tensor(node.outputs[0]).type;
    return std::ranges::any_of(node.inputs, [&](TensorId other) {
      return other.valid() && !graph.tensor(other).value && graph.tensor(other).type.shape_known &&
             graph.tensor(other).type.shape == result.shape;
    });
  };
  const auto& readers = graph.consumers(id);
  return !graph.is_output(id) && !readers.empty() && std::ranges::all_of(readers, repeats);
}

/// The elements as rows × `size` × `width` bytes: whether all along the middle is the same.
bool is_same_along(std::span<const std::byte> bytes, std::size_t size, std::size_t width) {
  for (std::size_t row = 0; row < bytes.size(); row += size * width)
    for (std::size_t k = 1; k < size; ++k)
      if (std::memcmp(&bytes[row], &bytes[row + k * width], width) != 0) return false;
  return true;
}

/// The first of `size` in each row.
std::vector<std::byte> first_along(std::span<const std::byte> bytes, std::size_t size,
                                   std::size_t width) {
  std::vector<std::byte> first;
  for (std::size_t row = 0; row < bytes.size(); row += size * width)
    first.insert(first.end(), &bytes[row], &bytes[row] + width);
  return first;
}

/// None: nothing is repeated.
std::optional<Literal> without_repetition(const Literal& literal) {
  Dims dims = literal.dims();
  std::vector<std::byte> narrow;
  std::span<const std::byte> bytes = literal.bytes();
  std::size_t width = core::size_bytes(literal.data_type());
  for (std::size_t d = dims.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[d]);
    if (size > 1 && is_same_along(bytes, size, width)) {
      narrow = first_along(bytes, size, width);
      bytes = narrow;
      dims[d] = 1;
    }
    width *= static_cast<std::size_t>(dims[d]);
  }
  if (dims == literal.dims()) return std::nullopt;
  return Literal::copy(literal.data_type(), std::move(dims), bytes);
}

}  // namespace

Graph narrow_constants(const Graph& graph) {
  std::map<TensorId, core::LiteralPtr> narrow;
  for (std::size_t k = 0; k < graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!graph.contains(id) || !has_several_floats(graph.tensor(id).value)) continue;
    if (!is_repeated_by_readers(graph, id)) continue;
    if (auto made = without_repetition(*graph.tensor(id).value))
      narrow.emplace(id, std::make_shared<const Literal>(*std::move(made)));
  }
  if (narrow.empty()) return graph;
  core::GraphBuilder builder(graph);
  for (const auto& [id, value] : narrow)
    builder.replace_uses(id, builder.add_constant(value, graph.tensor(id).name));
  auto result = std::move(builder).finish();
  CHECK(result.ok(), "a constant that is repeated anyway cannot break a graph");
  return *std::move(result);
}

}  // namespace soapstone::search
