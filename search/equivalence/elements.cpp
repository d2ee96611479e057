// compare(): one output of one sample, element by element.
#include <algorithm>
#include <cmath>
#include <limits>

#include "search/equivalence/rounding.h"

namespace soapstone::search {
namespace {

/// In double precision both sides agree if nothing but rounded constants tells them apart.
constexpr double kSameInDoubles = 0x1p-20;

bool same_special(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Integers that depend on reals may flip where the original's do, and about as often.
bool compare_integers(const std::vector<double>& expected, const std::vector<double>& actual,
                      const Rounding* rounding) {
  if (rounding == nullptr || rounding->exact.empty()) return expected == actual;
  std::size_t own = 0, others = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    own += expected[i] != rounding->exact[i] ? 1 : 0;
    others += actual[i] != rounding->exact[i] ? 1 : 0;
  }
  return static_cast<double>(others) <= rounding->factor * static_cast<double>(own);
}

/// Whether two elements agree if at least one of them is no finite number.
bool special_agrees(double expected, double actual, const Floor& floor, const double* exact,
                    double allowed) {
  if (same_special(expected, actual)) return true;
  const bool exact_is_finite = exact != nullptr && std::isfinite(*exact);
  // At the very edge of the type rounding alone decides.
  if (exact_is_finite && std::abs(*exact) >= 0.999 * floor.largest) return !std::isnan(actual);
  if (std::isfinite(expected) || !exact_is_finite) return false;
  return !std::isfinite(actual) || std::abs(actual - *exact) <= allowed;
}

/// What an element is judged by.
struct ElementBounds {
  double scale = 0;  ///< Root mean square of what is expected.
  double own = 0;    ///< What rounding in the original explains.
};

/// Whether the two sides compute the same real number, so that their types make the difference. If
/// neither has a number in double precision either, the input is out of the range of all types.
bool agree_in_doubles(double original, double other, const ElementBounds& bounds) {
  if (!std::isfinite(original) || !std::isfinite(other))
    return std::isfinite(original) == std::isfinite(other);
  const double size = std::max({std::abs(original), std::abs(other), bounds.scale});
  return std::abs(original - other) <= kSameInDoubles * size + bounds.own;
}

/// Whether an element that is off may be, as rules say of themselves.
bool is_excused(double expected, double actual, std::size_t i, Latitude latitude,
                const RangeEvidence* range, const ElementBounds& bounds) {
  if (latitude.may_lose) return true;
  if (!latitude.may_overflow || range == nullptr) return false;
  const bool is_special = !std::isfinite(expected) || !std::isfinite(actual);
  if (!is_special && !range->on_the_way) return false;
  if (i >= range->original.size() || i >= range->other.size()) return true;
  return agree_in_doubles(range->original[i], range->other[i], bounds);
}

/// False: the outputs are not to be compared element by element, or are integers, and differ.
bool comparable(const std::vector<double>& expected, const std::vector<double>& actual,
                const Floor& floor, const Rounding* rounding, OutputError& error) {
  const bool is_exact = floor.is_integer() && floor.relative == 0;
  if (expected.size() == actual.size() &&
      (!is_exact || compare_integers(expected, actual, rounding)))
    return true;
  const double difference = expected.size() == actual.size()
                                ? largest_difference(expected, actual)
                                : std::numeric_limits<double>::infinity();
  error.max_abs_error = std::max(error.max_abs_error, difference);
  error.max_rel_error = std::max(error.max_rel_error, 1.0);
  return error.equal = false;
}

}  // namespace

bool compare(const std::vector<double>& expected, const std::vector<double>& actual,
             const Floor& floor, const Rounding* rounding, Latitude latitude,
             const RangeEvidence* range, OutputError& error) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!comparable(expected, actual, floor, rounding, error)) return false;
  if (floor.is_integer() && floor.relative == 0) return true;
  const bool has_exact = rounding != nullptr && rounding->exact.size() == expected.size();
  ElementBounds bounds{size_of(expected), rounding != nullptr ? rounding->allowed() : 0};
  // Zeros everywhere have no size: numbers of the size of one that cancel may leave this much.
  if (bounds.scale == 0 && floor.spacing > 0)
    bounds.own = std::max({bounds.own, 8 * floor.spacing, floor.relative});
  bool equal = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double* const exact = has_exact ? &rounding->exact[i] : nullptr;
    const bool special = !std::isfinite(expected[i]) || !std::isfinite(actual[i]);
    const double size =
        std::max(std::isfinite(expected[i]) ? std::abs(expected[i]) : 0.0, bounds.scale);
    const double allowed = floor.absolute + bounds.own + floor.relative * size;
    const double difference = special ? kInfinity : std::abs(expected[i] - actual[i]);
    const double from =
        exact != nullptr && std::isfinite(*exact) ? std::abs(actual[i] - *exact) : difference;
    const bool within = special ? special_agrees(expected[i], actual[i], floor, exact, allowed)
                                : std::min(from, difference) <= allowed;
    if (within && special) continue;
    if (!within && special && latitude.may_recover && !std::isfinite(expected[i])) continue;
    if (!within && is_excused(expected[i], actual[i], i, latitude, range, bounds)) {
      ++error.overflowed;
      continue;
    }
    equal = equal && within;
    error.max_abs_error = std::max(error.max_abs_error, difference);
    if (special)
      error.max_rel_error = kInfinity;
    else if (size > 0)
      error.max_rel_error = std::max(error.max_rel_error, difference / size);
  }
  error.equal = error.equal && equal;
  return equal;
}

}  // namespace soapstone::search
