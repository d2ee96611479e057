#include "parallel/pieces/piece_graph.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

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

/// The intervals of all parts, one part behind the other.
IndexSet one_behind_the_other(const std::vector<IndexSet>& parts) {
  IndexSet all;
  for (const IndexSet& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// The order in which the elements of the intervals ascend. Precondition: they are disjoint.
std::vector<std::int64_t> ascending_order(const IndexSet& intervals) {
  std::vector<std::pair<ops::Interval, std::int64_t>> begins;  // with their first positions
  std::int64_t before = 0;
  for (const ops::Interval& interval : intervals) {
    begins.emplace_back(interval, before);
    before += interval.high - interval.low;
  }
  std::ranges::sort(begins, {}, [](const auto& begin) { return begin.first.low; });
  std::vector<std::int64_t> order;
  order.reserve(static_cast<std::size_t>(before));
  for (const auto& [interval, first] : begins)
    for (std::int64_t i = interval.low; i < interval.high; ++i)
      order.push_back(first + i - interval.low);
  return order;
}

core::Dims dims_of(const core::GraphBuilder& builder, core::TensorId tensor) {
  return *core::concrete(builder.tensor(tensor).type.shape);
}

/// The tensor with `split` in place of the sizes of so many dimensions from `dim` on.
core::TensorId reshaped(core::GraphBuilder& builder, core::TensorId tensor, std::size_t dim,
                        std::size_t replaced, const core::Dims& split) {
  core::Dims dims = dims_of(builder, tensor);
  const auto first = dims.begin() + static_cast<std::ptrdiff_t>(dim);
  dims.erase(first, first + static_cast<std::ptrdiff_t>(replaced));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(dim), split.begin(), split.end());
  return append_one(builder, "reshape", {tensor}, {{"shape", ops::to_sizes(dims)}});
}

core::TensorId slice(core::GraphBuilder& builder, core::TensorId tensor, const core::Dims& axes,
                     const core::Dims& starts, const core::Dims& sizes) {
  return append_one(builder, "slice", {tensor},
                    {{"axes", ops::to_sizes(axes)},
                     {"starts", ops::to_sizes(starts)},
                     {"sizes", ops::to_sizes(sizes)},
                     {"steps", ops::to_sizes(core::Dims(axes.size(), 1))}});
}

/// Intervals of one length at one distance, each within a turn of a dimension of whole turns.
bool is_regular(const IndexSet& set, std::int64_t size) {
  const std::int64_t length = set[0].high - set[0].low, turn = set[1].low - set[0].low;
  if (size % turn != 0 || set[0].low % turn + length > turn) return false;
  for (std::size_t k = 1; k < set.size(); ++k)
    if (set[k].low - set[k - 1].low != turn || set[k].high - set[k].low != length) return false;
  return true;
}

/// Several intervals of a dimension: a slice of its turns, or a gather.
core::TensorId take_intervals(core::GraphBuilder& builder, core::TensorId tensor, std::size_t dim,
                              const IndexSet& set) {
  const std::int64_t size = dims_of(builder, tensor)[dim];
  if (!is_regular(set, size)) return gather(builder, tensor, dim, indices_of(set));
  const std::int64_t turn = set[1].low - set[0].low, length = set[0].high - set[0].low;
  const auto turns = static_cast<std::int64_t>(set.size()), axis = static_cast<std::int64_t>(dim);
  tensor = reshaped(builder, tensor, dim, 1, {size / turn, turn});
  tensor = slice(builder, tensor, {axis, axis + 1}, {set[0].low / turn, set[0].low % turn},
                 {turns, length});
  return reshaped(builder, tensor, dim, 2, {turns * length});
}

/// Parts that take turns: each has as many intervals, all of one length, and the next ones of all
/// parts follow each other.
bool takes_turns(const std::vector<IndexSet>& parts) {
  const std::size_t turns = parts.front().size();
  if (turns < 2) return false;
  for (const IndexSet& part : parts) {
    if (part.size() != turns) return false;
    for (const ops::Interval& interval : part)
      if (interval.high - interval.low != part[0].high - part[0].low) return false;
  }
  std::int64_t end = parts.front().front().low;
  for (std::size_t k = 0; k < turns; ++k)
    for (const IndexSet& part : parts) {
      if (part[k].low < end) return false;
      end = part[k].high;
    }
  return true;
}

/// Cells that lie one behind the other along a dimension; parts that take turns are joined turn by
/// turn.
core::TensorId concat(core::GraphBuilder& builder, std::size_t dim,
                      const std::vector<IndexSet>& parts, std::vector<core::TensorId> cells) {
  const bool in_turns = takes_turns(parts);
  const auto turns = static_cast<std::int64_t>(parts.front().size());
  if (in_turns)
    for (std::size_t p = 0; p < cells.size(); ++p)
      cells[p] = reshaped(builder, cells[p], dim, 1, {turns, count(parts[p]) / turns});
  const core::TensorId joined =
      append_one(builder, "concat", std::move(cells),
                 {{"axis", core::Polynomial(static_cast<std::int64_t>(in_turns ? dim + 1 : dim))}});
  if (!in_turns) return joined;
  return reshaped(builder, joined, dim, 2, {turns * dims_of(builder, joined)[dim + 1]});
}

}  // namespace

core::TensorId take_piece(core::GraphBuilder& builder, core::TensorId tensor,
                          const TensorPiece& piece) {
  const core::Dims dims = dims_of(builder, tensor);
  core::Dims axes, starts, sizes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (piece.dims[d].size() != 1 || count(piece.dims[d]) == dims[d]) continue;
    axes.push_back(static_cast<std::int64_t>(d));
    starts.push_back(piece.dims[d].front().low);
    sizes.push_back(count(piece.dims[d]));
  }
  if (!axes.empty()) tensor = slice(builder, tensor, axes, starts, sizes);
  for (std::size_t d = 0; d < dims.size(); ++d)
    if (piece.dims[d].size() > 1) tensor = take_intervals(builder, tensor, d, piece.dims[d]);
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
      joined.push_back(
          concat(builder, d, parts[d], {begin, begin + static_cast<std::ptrdiff_t>(count)}));
    }
    cells = std::move(joined);
  }
  CHECK(cells.size() == 1, "the cells of a grid");
  core::TensorId whole = cells.front();
  for (std::size_t d = 0; d < parts.size(); ++d) {
    if (parts[d].size() == 1 || takes_turns(parts[d])) continue;
    const IndexSet intervals = one_behind_the_other(parts[d]);
    if (!std::ranges::is_sorted(intervals, {}, &ops::Interval::low))
      whole = gather(builder, whole, d, ascending_order(intervals));
  }
  return whole;
}

core::TensorId sum_in_order(core::GraphBuilder& builder, const std::vector<core::TensorId>& terms) {
  core::TensorId sum = terms.front();
  for (std::size_t k = 1; k < terms.size(); ++k) sum = append_one(builder, "add", {sum, terms[k]});
  return sum;
}

}  // namespace soapstone::parallel
