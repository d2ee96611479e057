// Evenly spaced positions are slices, others are gathered by a table. What cannot be read one
// dimension after the other is read from the flat tensor.
#include "ops/lowering/reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ops/definition/indexing.h"

namespace soapstone::ops {
namespace {

using core::Dims;
using core::TensorId;

/// Errors of tables that are too large.
core::Error too_large_a_table() {
  return core::unsupported(
      fmt::format("written with standard operators it takes a table of more than {} positions",
                  kMostTableEntries));
}

class Reader {
 public:
  Reader(SharedNodes& nodes, const IndexSpace& space) : nodes_(nodes), space_(space) {}

  /// The positions of one dimension, which become as many elements in their order.
  TensorId select(TensorId x, std::size_t dim, const std::vector<std::int64_t>& positions) {
    const std::int64_t size = nodes_.dims(x)[dim];
    if (is_all(positions, size)) return x;
    const auto count = static_cast<std::int64_t>(positions.size());
    const std::int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
    if (step != 0 && is_even(positions, step, size))
      return nodes_.append("slice", {x},
                           {{"axes", Sizes{static_cast<std::int64_t>(dim)}},
                            {"starts", Sizes{positions[0]}},
                            {"sizes", Sizes{count}},
                            {"steps", Sizes{step}}});
    std::vector<std::int64_t> within;
    for (const std::int64_t p : positions)
      within.push_back(std::clamp<std::int64_t>(p, 0, size - 1));
    const TensorId table = nodes_.constant(core::Literal::ints({count}, within));
    return nodes_.append("gather", {x, table},
                         {{"axis", Polynomial(static_cast<std::int64_t>(dim))}});
  }

  /// A tensor whose dimensions are these axes, in any order, one behind the other.
  Spread ordered(TensorId x, const std::vector<Symbol>& axes) {
    const Dims dims = space_.dims(axes);
    if (nodes_.dims(x) != dims) x = nodes_.append("reshape", {x}, {{"shape", to_sizes(dims)}});
    std::vector<Symbol> sorted = axes;
    space_.sort(sorted);
    if (sorted == axes || nodes_.error()) return {{}, x, sorted};
    Sizes permutation;
    for (const Symbol axis : sorted)
      permutation.emplace_back(
          static_cast<std::int64_t>(std::ranges::find(axes, axis) - axes.begin()));
    return {{}, nodes_.append("transpose", {x}, {{"perm", permutation}}), sorted};
  }

  /// The axes of a flat position, outermost first, if it runs through the whole tensor in
  /// row-major order of theirs; else none.
  std::vector<Symbol> row_major_axes(const Polynomial& position, std::int64_t count) const {
    std::vector<Symbol> axes = position.symbols();
    for (const Symbol axis : axes)
      if (space_.is_defined(axis) || space_.low(axis) != 0 || position.coefficient(axis) <= 0)
        return {};
    std::ranges::sort(axes, [&](Symbol a, Symbol b) {
      return position.coefficient(a) > position.coefficient(b);
    });
    Polynomial expected;
    std::int64_t stride = 1;
    for (std::size_t k = axes.size(); k-- > 0;) {
      expected = expected + Polynomial(axes[k]) * Polynomial(stride);
      stride *= space_.size(axes[k]);
    }
    return stride == count && expected == position ? axes : std::vector<Symbol>();
  }

 private:
  using Sizes = std::vector<Polynomial>;

  static bool is_all(const std::vector<std::int64_t>& positions, std::int64_t size) {
    return std::ssize(positions) == size && is_even(positions, 1, size) && positions[0] == 0;
  }
  static bool is_even(const std::vector<std::int64_t>& positions, std::int64_t step,
                      std::int64_t size) {
    for (std::size_t k = 0; k < positions.size(); ++k)
      if (positions[k] != positions[0] + static_cast<std::int64_t>(k) * step || positions[k] < 0 ||
          positions[k] >= size)
        return false;
    return true;
  }

  SharedNodes& nodes_;
  const IndexSpace& space_;
};

}  // namespace

Spread read_flat_at(SharedNodes& nodes, const IndexSpace& space, TensorId tensor,
                    const Polynomial& position) {
  if (nodes.error()) return {};
  Reader reader(nodes, space);
  const std::int64_t count = core::element_count(nodes.dims(tensor));
  const auto axes = reader.row_major_axes(position, count);
  if (!axes.empty()) return reader.ordered(tensor, axes);
  const auto table = space.tabulate(position);
  if (!table) {
    nodes.fail(too_large_a_table());
    return {};
  }
  const TensorId flat =
      nodes.dims(tensor) == Dims{count}
          ? tensor
          : nodes.append("reshape", {tensor}, {{"shape", std::vector{Polynomial(count)}}});
  if (nodes.error()) return {};
  return reader.ordered(reader.select(flat, 0, table->values), table->axes);
}

Spread read_at(SharedNodes& nodes, const IndexSpace& space, TensorId tensor,
               const std::vector<Polynomial>& index) {
  if (nodes.error()) return {};
  std::vector<Symbol> axes;
  std::vector<IndexTable> tables;
  for (const Polynomial& p : index) {
    auto table = space.tabulate(p);
    if (!table) {
      nodes.fail(too_large_a_table());
      return {};
    }
    axes.insert(axes.end(), table->axes.begin(), table->axes.end());
    tables.push_back(*std::move(table));
  }
  if (std::set(axes.begin(), axes.end()).size() != axes.size())
    return read_flat_at(nodes, space, tensor,
                        flat_position(nodes.tensor(tensor).type.shape, index));
  Reader reader(nodes, space);
  for (std::size_t d = 0; d < tables.size() && !nodes.error(); ++d)
    tensor = reader.select(tensor, d, tables[d].values);
  if (nodes.error()) return {};
  return reader.ordered(tensor, axes);
}

}  // namespace soapstone::ops
