#include "parallel/pieces/index_set.h"

#include <algorithm>
#include <map>
#include <set>

namespace soapstone::parallel {
namespace {

/// Appends an interval behind the others, and joins it to the last one if they touch.
void append(IndexSet& set, const ops::Interval& more) {
  if (more.low >= more.high) return;
  if (!set.empty() && set.back().high == more.low)
    set.back().high = more.high;
  else
    set.push_back(more);
}

}  // namespace

bool has(const IndexSet& set, std::int64_t index) {
  const auto behind = std::ranges::upper_bound(set, index, {}, &ops::Interval::low);
  return behind != set.begin() && index < std::prev(behind)->high;
}

std::int64_t count(const IndexSet& set) {
  std::int64_t all = 0;
  for (const ops::Interval& interval : set) all += interval.high - interval.low;
  return all;
}

IndexSet intersection(const IndexSet& a, const IndexSet& b) {
  IndexSet both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    append(both, {std::max(a[i].low, b[j].low), std::min(a[i].high, b[j].high)});
    (a[i].high < b[j].high ? i : j) += 1;
  }
  return both;
}

IndexSet positions_in(const IndexSet& whole, const IndexSet& part) {
  IndexSet positions;
  std::int64_t before = 0;
  std::size_t next = 0;  // the first interval of `part` that ends behind the beginning of this one
  for (const ops::Interval& interval : whole) {
    while (next < part.size() && part[next].high <= interval.low) ++next;
    for (std::size_t k = next; k < part.size() && part[k].low < interval.high; ++k)
      append(positions, {before + std::max(part[k].low, interval.low) - interval.low,
                         before + std::min(part[k].high, interval.high) - interval.low});
    before += interval.high - interval.low;
  }
  return positions;
}

IndexSet elements_at(const IndexSet& whole, const ops::Interval& positions) {
  IndexSet elements;
  std::int64_t before = 0;
  for (const ops::Interval& interval : whole) {
    const std::int64_t begin = interval.low - before;  // the index at position 0, were it in here
    append(elements, {std::max(interval.low, begin + positions.low),
                      std::min(interval.high, begin + positions.high)});
    before += interval.high - interval.low;
  }
  return elements;
}

IndexSet repeated(std::int64_t size, std::int64_t stride, std::int64_t period,
                  const ops::Interval& values) {
  IndexSet set;
  if (period == 0) {
    append(set, {values.low * stride, std::min(values.high * stride, size)});
    return set;
  }
  for (std::int64_t begin = 0; begin < size; begin += period)
    append(set, {begin + values.low * stride, std::min(begin + values.high * stride, size)});
  return set;
}

TensorPiece TensorPiece::whole(const core::Dims& dims) {
  TensorPiece piece;
  for (const std::int64_t size : dims) append(piece.dims.emplace_back(), {0, size});
  return piece;
}

TensorPiece TensorPiece::of(const ops::DigitRegion& region) {
  TensorPiece piece;
  for (std::size_t d = 0; d < region.dims().size(); ++d)
    piece.dims.push_back(region.is_empty() ? IndexSet() : region.intervals(d));
  return piece;
}

std::int64_t TensorPiece::element_count() const {
  std::int64_t all = 1;
  for (const IndexSet& set : dims) all *= count(set);
  return all;
}

core::Dims TensorPiece::extents() const {
  core::Dims extents;
  for (const IndexSet& set : dims) extents.push_back(count(set));
  return extents;
}

TensorPiece intersection(const TensorPiece& a, const TensorPiece& b) {
  TensorPiece both;
  for (std::size_t d = 0; d < a.dims.size(); ++d)
    both.dims.push_back(intersection(a.dims[d], b.dims[d]));
  return both;
}

bool contains(const TensorPiece& whole, const TensorPiece& part) {
  return part.is_empty() || intersection(whole, part) == part;
}

TensorPiece relative_to(const TensorPiece& whole, const TensorPiece& part) {
  TensorPiece relative;
  for (std::size_t d = 0; d < whole.dims.size(); ++d)
    relative.dims.push_back(positions_in(whole.dims[d], part.dims[d]));
  return relative;
}

std::vector<IndexSet> common_parts(const std::vector<const IndexSet*>& sets) {
  std::set<std::int64_t> borders;
  for (const IndexSet* set : sets)
    for (const ops::Interval& interval : *set) {
      borders.insert(interval.low);
      borders.insert(interval.high);
    }
  std::map<std::vector<bool>, IndexSet> parts;
  for (auto low = borders.begin(); low != borders.end() && std::next(low) != borders.end(); ++low) {
    std::vector<bool> members;
    members.reserve(sets.size());
    for (const IndexSet* set : sets) members.push_back(has(*set, *low));
    if (std::ranges::find(members, true) != members.end())
      append(parts[members], {*low, *std::next(low)});
  }
  std::vector<IndexSet> ascending;
  for (auto& [members, part] : parts) ascending.push_back(std::move(part));
  std::ranges::sort(ascending, {}, [](const IndexSet& part) { return part.front().low; });
  return ascending;
}

}  // namespace soapstone::parallel
