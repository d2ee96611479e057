// Reads the stride and the window of a loop off the index expressions that mention it.
#include "ops/partition/places.h"

#include <algorithm>
#include <map>
#include <optional>

namespace soapstone::ops::partition {
namespace {

using analysis::Ranges;
using Place = std::optional<LoopPlace>;  // none: not all reads move with the loop

class PlaceSearch {
 public:
  PlaceSearch(const DigitSpace& space, const std::set<Symbol>& loop) : space_(space), loop_(loop) {}

  std::vector<LoopPlace> find() {
    for (const Access& access : space_.accesses())
      if (access.tensor < space_.input_count()) visit(access);
    std::vector<LoopPlace> places;
    for (const auto& [at, place] : found_)
      if (place) places.push_back(*place);
    return places;
  }

 private:
  void visit(const Access& access) {
    Ranges ranges = space_.stage_ranges();
    if (!space_.add_binders(access.binders, ranges)) return;
    Ranges narrowed = ranges;
    if (!analysis::narrow(access.bounds, narrowed) ||
        !analysis::narrow(access.selections, narrowed))
      return;
    const auto digits = space_.digits_of(access.tensor);
    for (const analysis::Digits& group : space_.groups_of(access, narrowed)) {
      if (digits[group.first].dim != digits[group.last].dim) {
        note(access.tensor, group, {});  // several dimensions mix
        continue;
      }
      Place place = moving(access, group, ranges);
      if (!place) place = solved(access, group, ranges);
      note(access.tensor, group, place);
    }
  }

  /// A dimension keeps a place only if all of its reads have it, with any window.
  void note(std::uint32_t tensor, const analysis::Digits& group, const Place& place) {
    const auto digits = space_.digits_of(tensor);
    for (std::size_t k = group.first; k <= group.last; ++k) {
      const auto [at, is_new] = found_.try_emplace({tensor, k}, k == group.first ? place : Place());
      if (is_new) continue;
      Place& known = at->second;
      if (!known || !place || known->stride != place->stride || known->divisor != place->divisor ||
          known->period != place->period) {
        known.reset();
        continue;
      }
      known->window = {std::min(known->window.low, place->window.low),
                       std::max(known->window.high, place->window.high)};
      if (covers_all(*known, space_.dims()[tensor][digits[k].dim])) known.reset();
    }
  }

  /// The loop's digit in the expression; none: it is not in it, or more than one is.
  std::optional<Symbol> loop_digit(const Polynomial& p) const {
    std::optional<Symbol> found;
    for (const auto& term : p.terms()) {
      if (!loop_.contains(term.monomial[0])) continue;
      if (found) return std::nullopt;
      found = term.monomial[0];
    }
    return found;
  }

  /// position = stride·i + rest.
  Place moving(const Access& access, const analysis::Digits& group, const Ranges& ranges) const {
    const auto digit = loop_digit(group.position);
    if (!digit) return std::nullopt;
    const auto digits = space_.digits_of(access.tensor);
    const DimDigit& last = digits[group.last];
    const std::int64_t size = space_.dims()[access.tensor][last.dim];
    LoopPlace place;
    place.tensor = access.tensor;
    place.dim = last.dim;
    const std::int64_t coefficient = group.position.coefficient(*digit);
    place.stride = coefficient * last.stride;
    const Interval rest = analysis::interval_of(
        group.position - Polynomial(*digit) * Polynomial(coefficient), ranges);
    place.window = {rest.low * last.stride, rest.high * last.stride};
    const std::int64_t span = last.stride * last.size;
    if (group.first == group.last && span < size) place.period = span;
    if (covers_all(place, size)) return std::nullopt;
    return place;
  }

  /// The position is a variable that an equation ties to the loop: divisor·e = stride·i + rest.
  Place solved(const Access& access, const analysis::Digits& group, const Ranges& ranges) const {
    const auto& terms = group.position.terms();
    if (terms.size() != 1 || group.position.constant() != 0 || terms[0].coefficient != 1)
      return std::nullopt;
    const Symbol element = terms[0].monomial[0];
    const DimDigit& last = space_.digits_of(access.tensor)[group.last];
    const std::int64_t size = space_.dims()[access.tensor][last.dim];
    if (last.size != size) return std::nullopt;
    for (const Constraint& c : access.selections) {
      const std::int64_t own = c.expression.coefficient(element);
      const auto digit = loop_digit(c.expression);
      if (c.kind != Constraint::Kind::kZero || own == 0 || !digit) continue;
      const Polynomial others = own > 0 ? own * Polynomial(element) - c.expression
                                        : c.expression - own * Polynomial(element);
      LoopPlace place;
      place.tensor = access.tensor;
      place.dim = last.dim;
      place.divisor = std::abs(own);
      place.stride = others.coefficient(*digit);
      place.window = analysis::interval_of(others - place.stride * Polynomial(*digit), ranges);
      if (!covers_all(place, size)) return place;
    }
    return std::nullopt;
  }

  /// Whether every iteration touches everything.
  static bool covers_all(const LoopPlace& place, std::int64_t size) {
    return place.window.high - place.window.low >= size * place.divisor;
  }

  const DigitSpace& space_;
  const std::set<Symbol>& loop_;
  std::map<std::pair<std::uint32_t, std::size_t>, Place> found_;  // by tensor and digit
};

}  // namespace

std::vector<LoopPlace> output_places(const DigitSpace& space, const std::set<Symbol>& loop) {
  std::vector<LoopPlace> places;
  const std::vector<std::uint32_t>& outputs = space.semantics().outputs;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto index = space.index_of(outputs[k]);
    for (std::size_t j = 0; j < index.size(); ++j) {
      if (!loop.contains(index[j])) continue;
      const DimDigit& digit = space.digits_of(outputs[k])[j];
      LoopPlace place;
      place.tensor = k;
      place.dim = digit.dim;
      place.stride = digit.stride;
      place.window = {0, digit.stride};
      const std::int64_t span = digit.stride * digit.size;
      if (span < space.dims()[outputs[k]][digit.dim]) place.period = span;
      places.push_back(place);
    }
  }
  return places;
}

std::vector<LoopPlace> input_places(const DigitSpace& space, const std::set<Symbol>& loop) {
  return PlaceSearch(space, loop).find();
}

}  // namespace soapstone::ops::partition
