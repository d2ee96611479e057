// ONNX operators that select elements, replace some, or rotate pairs of them: GatherND, ScatterND,
// ScatterElements, RotaryEmbedding. Where elements go to is known when a model is read, or the node
// stays opaque; where they come from need not be.
#include "ops/composites/onnx_selections.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "ops/definition/indexing.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::Dims;
using core::LiteralPtr;

/// The dimensions from `from` up to, but without, `to`.
Dims part(const Dims& dims, std::size_t from, std::size_t to) {
  return Dims(dims.begin() + static_cast<std::ptrdiff_t>(from),
              dims.begin() + static_cast<std::ptrdiff_t>(to));
}

Dims joined(Dims first, const Dims& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TensorId concat(Composer& compose, std::vector<TensorId> parts, std::size_t axis) {
  if (parts.size() == 1) return parts[0];
  return compose.append("concat", std::move(parts),
                        {{"axis", Polynomial(static_cast<std::int64_t>(axis))}});
}

TensorId gather(Composer& compose, TensorId data, TensorId indices, std::size_t axis) {
  return compose.append("gather", {data, indices},
                        {{"axis", Polynomial(static_cast<std::int64_t>(axis))}});
}

/// Coordinates along the first `depth` dimensions of a tensor, one tuple behind the other.
struct Tuples {
  std::size_t depth;
  std::vector<std::int64_t> coordinates;

  std::size_t count() const { return coordinates.size() / depth; }
  std::int64_t at(std::size_t k, std::size_t d) const { return coordinates[k * depth + d]; }
};

/// Counts negative coordinates from the end. Errors: kInvalidInput if there is no such element.
core::Status make_non_negative(const OnnxImport& import, Tuples& tuples, const Dims& sizes) {
  for (std::size_t k = 0; k < tuples.coordinates.size(); ++k) {
    std::int64_t& at = tuples.coordinates[k];
    const std::int64_t size = sizes[k % tuples.depth];
    if (at < -size || at >= size)
      return bad_node(import, fmt::format("index {} into a dimension of size {}", at, size));
    if (at < 0) at += size;
  }
  return core::Done{};
}

/// Row-major positions in a tensor of those sizes.
std::vector<std::int64_t> positions_of(const Tuples& tuples, const Dims& sizes) {
  std::vector<std::int64_t> positions(tuples.count(), 0);
  for (std::size_t k = 0; k < positions.size(); ++k)
    for (std::size_t d = 0; d < tuples.depth; ++d)
      positions[k] = positions[k] * sizes[d] + tuples.at(k, d);
  return positions;
}

// --- GatherND -----------------------------------------------------------------------------------

/// Data whose first `batch` dimensions are those of the indices, and the next `depth` of which the
/// indices have coordinates.
struct Gathering {
  Dims data, indices;
  std::size_t batch, depth;

  Dims batches() const { return part(data, 0, batch); }
  Dims sizes() const { return part(data, batch, batch + depth); }
  Dims rest() const { return part(data, batch + depth, data.size()); }
  Dims places() const { return part(indices, 0, indices.size() - 1); }
};

core::Result<Gathering> read_gathering(const OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "it has no indices");
  Gathering g{input_dims(import, 0), input_dims(import, 1), 0, 0};
  const std::int64_t batch = import.int_or("batch_dims", 0);
  const auto least = static_cast<std::int64_t>(std::min(g.data.size(), g.indices.size()));
  if (batch < 0 || batch >= least)
    return bad_node(import, fmt::format("batch_dims is {}, the least rank is {}", batch, least));
  g.batch = static_cast<std::size_t>(batch);
  if (g.batches() != part(g.indices, 0, g.batch))
    return bad_node(import, "data and indices are batches of different sizes");
  if (g.indices.back() < 1 || g.indices.back() > static_cast<std::int64_t>(g.data.size() - g.batch))
    return bad_node(import, fmt::format("tuples of {} coordinates", g.indices.back()));
  g.depth = static_cast<std::size_t>(g.indices.back());
  return g;
}

/// The position of each tuple in the flattened data. A coordinate selects from 0, 1, …: so it may
/// be negative, and one out of range stays an error.
TensorId append_positions(Composer& compose, TensorId indices, const Gathering& g) {
  const auto counting = [&](std::int64_t size) {
    return compose.append("iota", {}, {{"shape", to_sizes(Dims{size})}, {"axis", Polynomial(0)}});
  };
  const auto scaled = [&](TensorId x, std::int64_t stride) {
    if (stride == 1) return x;
    return compose.append("mul",
                          {x, compose.scalar(DataType::kInt64, static_cast<double>(stride))});
  };
  const Dims sizes = g.sizes(), places = g.places();
  TensorId total;
  std::int64_t stride = 1;
  for (std::size_t d = g.depth; d-- > 0; stride *= sizes[d]) {
    TensorId coordinate = indices;
    if (g.depth > 1)
      coordinate = compose.slice(indices, places.size(), static_cast<std::int64_t>(d), 1);
    coordinate = compose.reshape(coordinate, places);
    const TensorId moved = scaled(gather(compose, counting(sizes[d]), coordinate, 0), stride);
    total = d + 1 == g.depth ? moved : compose.append("add", {total, moved});
  }
  if (g.batch == 0) return total;
  const TensorId first = scaled(counting(core::element_count(g.batches())), stride);
  const Dims shape = joined(g.batches(), Dims(places.size() - g.batch, 1));
  return compose.append("add", {total, compose.reshape(first, shape)});
}

/// The same where the indices are known.
core::Result<TensorId> known_positions(OnnxImport& import, const core::Literal& indices,
                                       const Gathering& g) {
  Tuples tuples{g.depth, *indices.to_ints()};
  SOAPSTONE_RETURN_IF_ERROR(make_non_negative(import, tuples, g.sizes()));
  std::vector<std::int64_t> positions = positions_of(tuples, g.sizes());
  const std::int64_t batches = core::element_count(g.batches());
  const std::size_t each = positions.size() / static_cast<std::size_t>(batches);
  for (std::size_t k = 0; k < positions.size(); ++k)
    positions[k] += static_cast<std::int64_t>(k / each) * core::element_count(g.sizes());
  return import.constant(core::Literal::ints(g.places(), positions));
}

/// `gather` from data of which batches and the dimensions of the coordinates are one dimension.
ReadResult read_gather_nd(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Gathering g, read_gathering(import));
  const TensorId indices = import.input(1);
  if (import.type(indices).data_type != DataType::kInt64)
    return cannot_read(import, "the type of its indices");
  if (core::element_count(g.data) == 0 || core::element_count(g.indices) == 0)
    return cannot_read(import, "no elements");
  Composer compose(import);
  const LiteralPtr literal = import.constant_input(1);
  TensorId positions;
  if (literal && literal->to_ints()) {
    SOAPSTONE_ASSIGN_OR_RETURN(positions, known_positions(import, *literal, g));
  } else if (g.batch == 0 && g.depth == 1) {
    positions = compose.reshape(indices, g.places());
  } else {
    positions = append_positions(compose, indices, g);
  }
  const std::int64_t rows = core::element_count(part(g.data, 0, g.batch + g.depth));
  const TensorId flat = compose.reshape(import.input(0), joined({rows}, g.rest()));
  return compose.finish(gather(compose, flat, positions, 0));
}

// --- ScatterND, ScatterElements -----------------------------------------------------------------

/// More would take long to read, or make constants larger than the indices that they are made of.
constexpr std::int64_t kMostCoordinates = std::int64_t{1} << 22;
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 20;

/// L0, L1, … if the tuples are L0 × L1 × … in row-major order, as those of x[a:b, c:d] = y are.
std::optional<std::vector<Dims>> product_of_lists(const Tuples& tuples) {
  std::vector<Dims> lists(tuples.depth);
  std::size_t total = 1;
  for (std::size_t d = 0; d < tuples.depth; ++d) {
    std::unordered_set<std::int64_t> seen;
    for (std::size_t k = 0; k < tuples.count(); ++k)
      if (seen.insert(tuples.at(k, d)).second) lists[d].push_back(tuples.at(k, d));
    if (lists[d].size() > tuples.count() / total) return std::nullopt;
    total *= lists[d].size();
  }
  if (total != tuples.count()) return std::nullopt;
  std::size_t stride = 1;
  for (std::size_t d = tuples.depth; d-- > 0; stride *= lists[d].size())
    for (std::size_t k = 0; k < tuples.count(); ++k)
      if (tuples.at(k, d) != lists[d][k / stride % lists[d].size()]) return std::nullopt;
  return lists;
}

bool is_range(const Dims& list) {
  for (std::size_t k = 1; k < list.size(); ++k)
    if (list[k] != list[k - 1] + 1) return false;
  return true;
}

bool is_whole(const Dims& list, std::int64_t size) {
  return static_cast<std::int64_t>(list.size()) == size && list[0] == 0 && is_range(list);
}

/// Puts `rows` into the places L0 × L1 × … of a tensor.
class Replacement {
 public:
  Replacement(OnnxImport& import, Composer& compose, const std::vector<Dims>& lists)
      : import_(import), compose_(compose), lists_(lists) {}

  /// Precondition: along the dimensions before `axis`, data has the size of the rows.
  TensorId apply(TensorId data, TensorId rows, std::size_t axis) {
    const Dims dims = compose_.dims(data);
    if (dims.empty()) return data;  // after a failure
    while (axis < lists_.size() && is_whole(lists_[axis], dims[axis])) ++axis;
    if (axis == lists_.size()) return rows;
    bool is_last = true;
    for (std::size_t d = axis + 1; d < lists_.size(); ++d)
      is_last = is_last && is_whole(lists_[d], dims[d]);
    return is_range(lists_[axis]) ? in_range(data, rows, axis, is_last)
                                  : in_places(data, rows, axis, is_last);
  }

 private:
  TensorId in_range(TensorId data, TensorId rows, std::size_t axis, bool is_last) {
    const std::int64_t size = compose_.dims(data)[axis], first = lists_[axis].front(),
                       end = lists_[axis].back() + 1;
    if (!is_last) rows = apply(compose_.slice(data, axis, first, end - first), rows, axis + 1);
    std::vector<TensorId> parts;
    if (first > 0) parts.push_back(compose_.slice(data, axis, 0, first));
    parts.push_back(rows);
    if (end < size) parts.push_back(compose_.slice(data, axis, end, size - end));
    return concat(compose_, std::move(parts), axis);
  }

  /// Selects from the data and, behind them, the rows.
  TensorId in_places(TensorId data, TensorId rows, std::size_t axis, bool is_last) {
    const Dims& places = lists_[axis];
    const std::int64_t size = compose_.dims(data)[axis];
    if (size > kMostPlaces) {
      compose_.fail(cannot_read(import_, "too many places"));
      return data;
    }
    if (!is_last) rows = apply(gather(compose_, data, constant(places), axis), rows, axis + 1);
    Dims from(static_cast<std::size_t>(size));
    std::iota(from.begin(), from.end(), 0);
    for (std::size_t k = 0; k < places.size(); ++k)
      from[static_cast<std::size_t>(places[k])] = size + static_cast<std::int64_t>(k);
    return gather(compose_, concat(compose_, {data, rows}, axis), constant(from), axis);
  }

  TensorId constant(const Dims& list) {
    return import_.constant(core::Literal::ints({static_cast<std::int64_t>(list.size())}, list));
  }

  OnnxImport& import_;
  Composer& compose_;
  const std::vector<Dims>& lists_;
};

/// Input 0, with an update of the shape of its last dimensions in each place. Which of two updates
/// of one place counts, ONNX does not say.
ReadResult replaced(OnnxImport& import, Tuples tuples) {
  Composer compose(import);
  const Dims data = compose.dims(import.input(0));
  const Dims sizes = part(data, 0, tuples.depth), rest = part(data, tuples.depth, data.size());
  SOAPSTONE_RETURN_IF_ERROR(make_non_negative(import, tuples, sizes));
  TensorId target = import.input(0);
  std::optional<std::vector<Dims>> lists = product_of_lists(tuples);
  if (!lists) {
    const std::vector<std::int64_t> positions = positions_of(tuples, sizes);
    if (std::unordered_set<std::int64_t>(positions.begin(), positions.end()).size() !=
        positions.size())
      return cannot_read(import, "two updates of one place");
    target = compose.reshape(target, joined({core::element_count(sizes)}, rest));
    lists.emplace({positions});
  }
  Dims shape;
  for (const Dims& list : *lists) shape.push_back(static_cast<std::int64_t>(list.size()));
  const TensorId rows = compose.reshape(import.input(2), joined(shape, rest));
  return compose.finish(
      compose.reshape(Replacement(import, compose, *lists).apply(target, rows, 0), data));
}

/// The indices, if they are known and nothing but replacing is asked for.
core::Result<std::vector<std::int64_t>> scattered_indices(const OnnxImport& import) {
  if (!has_input(import, 1) || !has_input(import, 2))
    return bad_node(import, "its indices or updates are missing");
  if (import.type(import.input(2)).data_type != import.type(import.input(0)).data_type)
    return bad_node(import, "its updates have elements of another type than the data");
  if (import.text_or("reduction", "none") != "none") return cannot_read(import, "a reduction");
  const LiteralPtr literal = import.constant_input(1);
  auto indices = literal ? literal->to_ints() : std::nullopt;
  if (!indices) return cannot_read(import, "its indices are not known");
  return *std::move(indices);
}

ReadResult read_scatter_nd(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(std::vector<std::int64_t> indices, scattered_indices(import));
  const Dims data = input_dims(import, 0), shape = input_dims(import, 1);
  if (data.empty() || shape.empty() || shape.back() < 1 ||
      shape.back() > static_cast<std::int64_t>(data.size()))
    return bad_node(import, "tuples with more coordinates than data have dimensions, or with none");
  const auto depth = static_cast<std::size_t>(shape.back());
  if (input_dims(import, 2) !=
      joined(part(shape, 0, shape.size() - 1), part(data, depth, data.size())))
    return bad_node(import, "there must be an update for each tuple");
  if (core::element_count(input_dims(import, 2)) == 0) return std::vector{import.input(0)};
  if (static_cast<std::int64_t>(indices.size()) > kMostCoordinates)
    return cannot_read(import, "too many indices");
  return replaced(import, {depth, std::move(indices)});
}

/// Each index stands for a tuple: its own place, but for the coordinate along the axis.
ReadResult read_scatter_elements(OnnxImport& import) {
  const Dims data = input_dims(import, 0), shape = input_dims(import, 1);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::int64_t axis,
                             non_negative_axis(import, import.int_or("axis", 0), data.size()));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::int64_t> indices, scattered_indices(import));
  if (shape.size() != data.size() || input_dims(import, 2) != shape)
    return bad_node(import, "indices and updates must have one shape, of the rank of the data");
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (static_cast<std::int64_t>(d) != axis && shape[d] > data[d])
      return bad_node(
          import, fmt::format("{} indices along dimension {} of size {}", shape[d], d, data[d]));
  if (indices.empty()) return std::vector{import.input(0)};
  if (static_cast<std::int64_t>(indices.size()) >
      kMostCoordinates / static_cast<std::int64_t>(shape.size()))
    return cannot_read(import, "too many indices");
  Tuples tuples{shape.size(), {}};
  Dims place(shape.size(), 0);
  for (const std::int64_t index : indices) {
    tuples.coordinates.insert(tuples.coordinates.end(), place.begin(), place.end());
    *(tuples.coordinates.end() - static_cast<std::ptrdiff_t>(shape.size()) + axis) = index;
    for (std::size_t d = shape.size(); d-- > 0 && ++place[d] == shape[d];) place[d] = 0;
  }
  return replaced(import, std::move(tuples));
}

// --- RotaryEmbedding ----------------------------------------------------------------------------

/// x as [batch, heads, sequence, size] or [batch, sequence, heads, size].
struct Heads {
  Dims dims;
  std::size_t sequence;  ///< The dimension of that name: 2 or 1.
  std::int64_t rotated;  ///< How many elements of a head are rotated.
  bool interleaved;      ///< Pairs are neighbors; else the halves are paired.
};

core::Result<Heads> read_heads(const OnnxImport& import) {
  const Dims x = input_dims(import, 0);
  Heads heads{x, 2, import.int_or("rotary_embedding_dim", 0), import.int_or("interleaved", 0) != 0};
  if (x.size() == 3) {
    const std::int64_t count = import.int_or("num_heads", 0);
    if (count < 1 || x[2] % count != 0)
      return bad_node(import, "num_heads does not divide the last dimension");
    heads.dims = {x[0], x[1], count, x[2] / count};
    heads.sequence = 1;
  } else if (x.size() != 4) {
    return bad_node(import, "x must have 3 or 4 dimensions");
  }
  if (heads.rotated == 0) heads.rotated = heads.dims[3];
  if (heads.rotated < 2 || heads.rotated % 2 != 0 || heads.rotated > heads.dims[3])
    return bad_node(import, "it must rotate an even number of elements");
  return heads;
}

/// Input k, cosines or sines, in the shape in which they broadcast to halves of the heads.
core::Result<TensorId> read_cache(OnnxImport& import, Composer& compose, std::size_t k,
                                  const Heads& heads) {
  if (!has_input(import, k)) return bad_node(import, "cosines or sines are missing");
  const std::int64_t batch = heads.dims[0], length = heads.dims[heads.sequence],
                     half = heads.rotated / 2;
  TensorId cache = import.input(k);
  const bool by_position = has_input(import, 3);
  const Dims dims = compose.dims(cache);
  if (dims.size() != (by_position ? 2 : 3) || dims.back() != half)
    return bad_node(import, "cosines or sines have another shape than half of a head");
  if (by_position) {
    if (compose.dims(import.input(3)) != Dims{batch, length})
      return cannot_read(import, "positions that are not [batch, sequence]");
    cache = gather(compose, cache, import.input(3), 0);
  } else if (dims != Dims{batch, length, half}) {
    return cannot_read(import, "cosines or sines that are not [batch, sequence, half of a head]");
  }
  return compose.reshape(cache, heads.sequence == 1 ? Dims{batch, length, 1, half}
                                                    : Dims{batch, 1, length, half});
}

ReadResult read_rotary_embedding(OnnxImport& import) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Heads heads, read_heads(import));
  Composer compose(import);
  SOAPSTONE_ASSIGN_OR_RETURN(const TensorId cosines, read_cache(import, compose, 1, heads));
  SOAPSTONE_ASSIGN_OR_RETURN(const TensorId sines, read_cache(import, compose, 2, heads));
  const std::int64_t half = heads.rotated / 2, size = heads.dims[3];
  const TensorId x = compose.reshape(import.input(0), heads.dims);
  const TensorId a = compose.slice(x, 3, 0, half, heads.interleaved ? 2 : 1);
  const TensorId b =
      compose.slice(x, 3, heads.interleaved ? 1 : half, half, heads.interleaved ? 2 : 1);
  const auto times = [&](TensorId p, TensorId q) { return compose.append("mul", {p, q}); };
  std::vector<TensorId> parts{compose.append("sub", {times(cosines, a), times(sines, b)}),
                              compose.append("add", {times(sines, a), times(cosines, b)})};
  if (heads.interleaved) {
    Dims apart = heads.dims;
    apart[3] = half;
    apart.push_back(1);
    for (TensorId& each : parts) each = compose.reshape(each, apart);
    Dims together = heads.dims;
    together[3] = heads.rotated;
    parts = {compose.reshape(concat(compose, std::move(parts), 4), together)};
  }
  if (heads.rotated < size)
    parts.push_back(compose.slice(x, 3, heads.rotated, size - heads.rotated));
  const TensorId y = concat(compose, std::move(parts), 3);
  return compose.finish(compose.reshape(y, input_dims(import, 0)));
}

}  // namespace

std::vector<OnnxReader> selection_readers() {
  constexpr auto kN = Elements::kNumbers;
  return {
      reader("GatherND", kN, read_gather_nd, 11),
      reader("ScatterND", kN, read_scatter_nd, 11),
      reader("ScatterElements", kN, read_scatter_elements, 11),
      reader("Scatter", kN, read_scatter_elements, 9, 10),
      reader("RotaryEmbedding", Elements::kFloating, read_rotary_embedding, 23),
  };
}

}  // namespace soapstone::ops
