#include "parallel/pieces/piece_graph.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>

#include "core/base/check.h"
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"

namespace soapstone::parallel {
namespace {

core::TensorId append_one(core::GraphBuilder& builder, std::string_view op,
                          std::vector<core::TensorId> inputs,
                          const core::Attributes& attributes = {}) {
  auto outputs = ops::append(builder, op, std::move(inputs), attributes);
  CHECK(outputs.ok() && outputs->size() == 1, "a piece of a tensor has a type");
  return outputs->front();
}

core::TensorId gather(core::GraphBuilder& builder, core::TensorId tensor, std::size_t dim,
                      const std::vector<std::int64_t>& indices) {
  const core::TensorId chosen = builder.add_constant(std::make_shared<const core::Literal>(
      core::Literal::ints({static_cast<std::int64_t>(indices.size())}, indices)));
  return append_one(builder, "gather", {tensor, chosen},
                    {{"axis", core::Polynomial(static_cast<std::int64_t>(dim))}});
}

std::vector<std::int64_t> indices_of(const IndexSet& set) {
  std::vector<std::int64_t> indices;
  for (const ops::Interval& interval : set)
    for (std::int64_t i = interval.low; i < interval.high; ++i) indices.push_back(i);
  return indices;
}

/// The order in which the elements of the parts, one part behind the other, ascend.
std::vector<std::int64_t> ascending_order(const std::vector<IndexSet>& parts) {
  std::vector<std::int64_t> indices;
  for (const IndexSet& part : parts)
    for (const std::int64_t index : indices_of(part)) indices.push_back(index);
  std::vector<std::int64_t> order(indices.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::sort(order, {},
                    [&](std::int64_t at) { return indices[static_cast<std::size_t>(at)]; });
  return order;
}

}  // namespace

core::TensorId take_piece(core::GraphBuilder& builder, core::TensorId tensor,
                          const TensorPiece& piece) {
  const core::Dims dims = *core::concrete(builder.tensor(tensor).type.shape);
  core::Dims axes, starts, sizes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (piece.dims[d].size() != 1 || count(piece.dims[d]) == dims[d]) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    starts.push_back(piece.dims[d].front().low);
    sizes.push_back(count(piece.dims[d]));
  }
  if (!axes.empty())
    tensor = append_one(builder, "slice", {tensor},
                        {{"axes", ops::to_sizes(axes)},
                         {"starts", ops::to_sizes(starts)},
                         {"sizes", ops::to_sizes(sizes)},
                         {"steps", ops::to_sizes(core::Dims(axes.size(), 1))}});
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (piece.dims[d].size() > 1) tensor = gather(builder, tensor, d, indices_of(piece.dims[d]));
  return tensor;
}

core::TensorId join_pieces(core::GraphBuilder& builder,
                           const std::vector<std::vector<IndexSet>>& parts,
                           std::vector<core::TensorId> cells) {
  for (std::size_t d = parts.size(); d-- > 0;) {
    const std::size_t count = parts[d].size();
    if (count == 1) continue;
    std::vector<core::TensorId> joined;
    for (std::size_t first = 0; first < cells.size(); first += count) {
      const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(first);
      joined.push_back(append_one(builder, "concat",
                                  {begin, begin + static_cast<std::ptrdiff_t>(count)},
                                  {{"axis", core::Polynomial(static_cast<std::int64_t>(d))}}));
    }
    cells = std::move(joined);
  }
  CHECK(cells.size() == 1, "the cells of a grid");
  core::TensorId whole = cells.front();
  for (std::size_t d = 0; d < parts.size(); ++d) {
    const std::vector<std::int64_t> order = ascending_order(parts[d]);
    if (!std::ranges::is_sorted(order)) whole = gather(builder, whole, d, order);
  }
  return whole;
}

core::TensorId sum_in_order(core::GraphBuilder& builder, const std::vector<core::TensorId>& terms) {
  core::TensorId sum = terms.front();
  for (std::size_t k = 1; k < terms.size(); ++k) sum = append_one(builder, "add", {sum, terms[k]});
  return sum;
}

}  // namespace soapstone::parallel
