// See equal_places.h.
#include "ops/restriction/equal_places.h"

#include <algorithm>
#include <set>

#include "ops/restriction/equations.h"

namespace soapstone::ops::partition {
namespace {

using analysis::Ranges;

/// Constraints that the ranges do not imply. An equation is two inequalities.
std::set<Polynomial> without_implied(const std::vector<Constraint>& constraints,
                                     const Ranges& ranges) {
  std::set<Polynomial> rest;
  for (const Constraint& c : constraints) {
    const Interval values = analysis::interval_of(c.expression, ranges);
    const bool is_zero = c.kind == Constraint::Kind::kZero;
    if (is_zero ? values == Interval{0, 1} : values.low >= 0) continue;
    rest.insert(c.expression);
    if (is_zero) rest.insert(-c.expression);
  }
  return rest;
}

}  // namespace

std::optional<std::vector<Polynomial>> digits_of_index(const std::vector<Polynomial>& index,
                                                       const core::Dims& radices,
                                                       const std::vector<std::size_t>& dims,
                                                       bool is_flat, const Ranges& ranges) {
  std::vector<Polynomial> digits;
  for (std::size_t first = 0; first < radices.size();) {
    std::size_t end = is_flat ? radices.size() : first;
    while (end < radices.size() && dims[end] == dims[first]) ++end;
    const Polynomial& position = index[is_flat ? 0 : dims[first]];
    if (end - first == 1) {
      digits.push_back(position);
    } else {
      if (has_unknown(position)) return std::nullopt;
      const core::Dims some(radices.begin() + static_cast<std::ptrdiff_t>(first),
                            radices.begin() + static_cast<std::ptrdiff_t>(end));
      const auto groups = analysis::split_flat(position, some, ranges);
      if (groups.size() != end - first) return std::nullopt;
      for (const analysis::Digits& group : groups) digits.push_back(group.position);
    }
    first = end;
  }
  return digits;
}

std::optional<std::vector<std::pair<Polynomial, Polynomial>>>
equal_places(const Polynomial& a, const Polynomial& b, const std::vector<DigitInterval>& digits,
             const Ranges& ranges) {
  if (digits.size() == 1) return {{{a - Polynomial(digits[0].values.low), b}}};
  core::Dims radices, extents;
  for (const DigitInterval& d : digits) {
    radices.push_back(d.radix);
    extents.push_back(d.values.high - d.values.low);
  }
  const auto x = analysis::split_flat(a, radices, ranges);
  const auto y = analysis::split_flat(b, extents, ranges);
  if (x.size() != y.size()) return std::nullopt;
  std::vector<std::pair<Polynomial, Polynomial>> pairs;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (x[k].first != y[k].first || x[k].last != y[k].last) return std::nullopt;
    std::int64_t begin = digits[x[k].first].values.low;
    for (std::size_t j = x[k].first + 1; j <= x[k].last; ++j) {
      if (radices[j] != extents[j]) return std::nullopt;
      begin *= radices[j];
    }
    pairs.emplace_back(x[k].position - Polynomial(begin), y[k].position);
  }
  return pairs;
}

bool narrow_alike(const std::vector<Constraint>& a, const std::vector<Constraint>& b,
                  Ranges& ranges) {
  Ranges by_a = ranges, by_b = ranges;
  if (!analysis::narrow(a, by_a) || !analysis::narrow(b, by_b)) return false;
  const bool is_same =
      without_implied(a, ranges) == without_implied(b, ranges) ||
      (by_a == by_b && without_implied(a, by_a).empty() && without_implied(b, by_b).empty());
  if (is_same) ranges = by_a;
  return is_same;
}

bool excludes_others(const std::vector<Constraint>& constraints, const Ranges& all,
                     const Ranges& ranges) {
  if (all.empty()) return true;
  Ranges narrowed = ranges;
  for (const auto& [symbol, range] : all) narrowed[symbol] = range;
  if (!analysis::narrow(constraints, narrowed)) return true;
  return std::ranges::all_of(all, [&](const auto& entry) {
    const Interval &some = ranges.at(entry.first), &possible = narrowed.at(entry.first);
    return possible.low >= some.low && possible.high <= some.high;
  });
}

}  // namespace soapstone::ops::partition
