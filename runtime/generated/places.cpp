// See places.h.
#include "runtime/generated/places.h"

#include <algorithm>

namespace soapstone::runtime::generated {
namespace {

/// coefficient · (⌊variable / divisor⌋ mod size)
struct Term {
  std::int64_t coefficient;
  std::uint32_t variable;
  std::int64_t divisor, size;
};

/// The terms of a position, all digits of variables that the text declares. None: there are others.
std::optional<std::vector<Term>> terms_of(const IndexSpace& space, const Affine& position) {
  if (position.constant != 0) return std::nullopt;
  std::vector<Term> terms;
  for (const auto& [id, c] : position.coefficients) {
    const IndexVariable& v = space.variable(id);
    if (!v.digit) {
      terms.push_back({c, id, 1, v.high});
      continue;
    }
    const Affine& of = v.digit->of;
    if (of.constant != 0 || of.coefficients.size() != 1) return std::nullopt;
    const auto& [inner, times] = *of.coefficients.begin();
    if (times != 1 || space.variable(inner).digit) return std::nullopt;
    terms.push_back({c, inner, v.digit->divisor, v.high});
  }
  return terms;
}

/// True if the numbers (stride, size), in ascending order, are all digits of numbers below `count`.
bool is_radix(std::vector<std::pair<std::int64_t, std::int64_t>> digits, std::int64_t count) {
  std::sort(digits.begin(), digits.end());
  std::int64_t next = 1;
  for (const auto& [stride, size] : digits) {
    if (size == 1) continue;
    if (stride != next) return false;
    next *= size;
  }
  return next == count;
}

}  // namespace

std::optional<Place> place_of_row(const IndexSpace& space, const Affine& row_position,
                                  std::uint32_t at, std::int64_t elements, std::int64_t rows) {
  auto terms = terms_of(space, row_position);
  if (!terms) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::int64_t>> radix;
  for (const Term& t : *terms) {
    if (t.variable != at) return std::nullopt;
    radix.emplace_back(t.coefficient, t.size);
  }
  if (!is_radix(std::move(radix), rows)) return std::nullopt;
  std::sort(terms->begin(), terms->end(),
            [](const Term& a, const Term& b) { return a.divisor < b.divisor; });
  Place place;
  std::int64_t end = 1;  // of the digits that are placed
  const auto add_columns = [&](std::int64_t until) {
    const std::int64_t size = until / end;
    if (size > 1) place.digits.push_back({false, end, place.columns, size});
    place.columns *= size;
    end = until;
  };
  for (const Term& t : *terms) {
    if (t.divisor % end != 0) return std::nullopt;
    add_columns(t.divisor);
    place.digits.push_back({true, t.divisor, t.coefficient, t.size});
    end *= t.size;
  }
  if (elements % end != 0) return std::nullopt;
  add_columns(elements);
  return place;
}

std::optional<Place> place_in(const IndexSpace& space, const Affine& position, std::uint32_t row,
                              std::int64_t elements, std::int64_t rows) {
  const auto terms = terms_of(space, position);
  if (!terms) return std::nullopt;
  Place place;
  std::vector<std::pair<std::int64_t, std::int64_t>> all, of_row, of_column;
  std::optional<std::uint32_t> column;
  for (const Term& t : *terms) {
    const bool is_row = t.variable == row;
    if (!is_row && column.value_or(t.variable) != t.variable) return std::nullopt;
    if (!is_row) column = t.variable;
    if (!is_row) place.columns = space.variable(t.variable).high;
    all.emplace_back(t.coefficient, t.size);
    (is_row ? of_row : of_column).emplace_back(t.divisor, t.size);
    place.digits.push_back({is_row, t.coefficient, t.divisor, t.size});
  }
  const bool is_whole = is_radix(std::move(all), elements) && is_radix(std::move(of_row), rows) &&
                        is_radix(std::move(of_column), place.columns);
  return is_whole ? std::optional(place) : std::nullopt;
}

Affine position_at(IndexSpace& space, const std::vector<PlaceDigit>& place, const Affine& row,
                   const Affine& column) {
  Affine position;
  for (const PlaceDigit& d : place)
    position.add(space.digit(d.is_row ? row : column, d.divisor, d.size), d.stride);
  return space.joined(position);
}

bool steps_by_one(const IndexSpace& space, const Affine& position, std::uint32_t row) {
  return std::any_of(position.coefficients.begin(), position.coefficients.end(),
                     [&](const auto& term) {
                       const IndexVariable& v = space.variable(term.first);
                       if (term.second != 1 || term.first == row) return false;
                       if (!v.digit) return true;
                       return v.digit->divisor == 1 && v.digit->of.coefficient(row) == 0;
                     });
}

}  // namespace soapstone::runtime::generated
