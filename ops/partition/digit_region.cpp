// Digits that are all taken, or of which the outer one is fixed, merge with their neighbor.
#include "ops/partition/digit_region.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

std::int64_t length(const DigitInterval& d) {
  return std::max<std::int64_t>(d.values.high - d.values.low, 0);
}
bool is_whole(const DigitInterval& d) { return d.values.low == 0 && d.values.high == d.radix; }

std::vector<DigitInterval> merged(const std::vector<DigitInterval>& digits) {
  if (std::ranges::any_of(digits, [](const DigitInterval& d) { return length(d) == 0; })) {
    std::int64_t radix = 1;
    for (const DigitInterval& d : digits) radix *= d.radix;
    return {{radix, {0, 0}}};
  }
  std::vector<DigitInterval> result;
  for (const DigitInterval& inner : digits) {
    if (!result.empty() && (is_whole(inner) || length(result.back()) == 1)) {
      DigitInterval& outer = result.back();
      const std::int64_t low = outer.values.low * inner.radix + inner.values.low;
      const std::int64_t high = (outer.values.high - 1) * inner.radix + inner.values.high;
      outer = {outer.radix * inner.radix, {low, high}};
    } else if (inner.radix > 1 || digits.size() == 1) {
      result.push_back(inner);
    }
  }
  if (result.empty()) result.push_back({1, {0, 1}});
  return result;
}

std::int64_t overlap(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    count +=
        std::max<std::int64_t>(std::min(a[i].high, b[j].high) - std::max(a[i].low, b[j].low), 0);
    a[i].high < b[j].high ? ++i : ++j;
  }
  return count;
}

}  // namespace

DigitRegion::DigitRegion(std::vector<std::vector<DigitInterval>> dims) : dims_(std::move(dims)) {
  for (auto& digits : dims_) digits = merged(digits);
}

DigitRegion DigitRegion::whole(const core::Dims& dims) {
  std::vector<std::vector<DigitInterval>> digits;
  for (std::int64_t size : dims) digits.push_back({{size, {0, size}}});
  return DigitRegion(std::move(digits));
}

DigitRegion DigitRegion::none(const core::Dims& dims) {
  DigitRegion region = box(dims, std::vector<Interval>(dims.size()));
  region.is_none_ = dims.empty();
  return region;
}

DigitRegion DigitRegion::box(const core::Dims& dims, const std::vector<Interval>& intervals) {
  CHECK(dims.size() == intervals.size(), "an interval for each dimension");
  std::vector<std::vector<DigitInterval>> digits;
  for (std::size_t d = 0; d < dims.size(); ++d) digits.push_back({{dims[d], intervals[d]}});
  return DigitRegion(std::move(digits));
}

bool DigitRegion::is_box() const {
  return std::ranges::all_of(dims_, [](const auto& digits) { return digits.size() == 1; });
}

std::int64_t DigitRegion::element_count() const {
  return is_none_ ? 0 : core::element_count(extents());
}

core::Dims DigitRegion::extents() const {
  core::Dims extents;
  for (const auto& digits : dims_) {
    extents.push_back(1);
    for (const DigitInterval& d : digits) extents.back() *= length(d);
  }
  return extents;
}

core::Dims DigitRegion::tensor_dims() const {
  core::Dims dims;
  for (const auto& digits : dims_) {
    dims.push_back(1);
    for (const DigitInterval& d : digits) dims.back() *= d.radix;
  }
  return dims;
}

std::vector<Interval> DigitRegion::hull() const {
  std::vector<Interval> hull;
  for (const auto& digits : dims_) {
    Interval values{0, 1};
    for (const DigitInterval& d : digits) {
      values = {values.low * d.radix + d.values.low, (values.high - 1) * d.radix + d.values.high};
      if (length(d) == 0) values = {0, 0};
    }
    hull.push_back(values);
  }
  return hull;
}

std::vector<Interval> DigitRegion::intervals(std::size_t dim) const {
  std::vector<Interval> pieces{{0, 1}};
  for (const DigitInterval& d : dims_[dim]) {
    std::vector<Interval> finer;
    for (const Interval& piece : pieces)
      for (std::int64_t at = piece.low; at < piece.high && length(d) > 0; ++at)
        finer.push_back({at * d.radix + d.values.low, at * d.radix + d.values.high});
    pieces = std::move(finer);
  }
  return pieces;
}

std::int64_t common_elements(const DigitRegion& a, const DigitRegion& b) {
  CHECK(a.dims().size() == b.dims().size(), "regions of tensors of different ranks");
  std::int64_t count = a.is_empty() || b.is_empty() ? 0 : 1;
  for (std::size_t d = 0; d < a.dims().size() && count > 0; ++d)
    count *= overlap(a.intervals(d), b.intervals(d));
  return count;
}

}  // namespace soapstone::ops
