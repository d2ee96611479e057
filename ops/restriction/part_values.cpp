#include "ops/restriction/part_values.h"

#include "ops/restriction/equal_places.h"

namespace soapstone::ops::partition {

using analysis::Ranges;
using Constraints = std::vector<Constraint>;

PartValues::PartValues(const PartProblem& problem, const Semantics& part, const Solution& known,
                       bool keeps_unknowns)
    : problem_(problem), space_(problem.whole), whole_(space_.semantics()), part_(part),
      known_(known), keeps_unknowns_(keeps_unknowns) {}

void PartValues::begin_output(std::size_t k) {
  now_.whole.clear();
  now_.part.clear();
  now_.ranges.clear();
  const std::uint32_t tensor = whole_.outputs[k];
  const Stage& stage = part_.stages[part_.outputs[k] - part_.input_count];
  const auto index = space_.index_of(tensor);
  const auto digits = space_.digits_of(tensor);
  for (std::size_t d = 0; d < stage.index.size(); ++d)
    now_.part[stage.index[d]] = problem_.begins[k][d];
  for (std::size_t j = index.size(); j-- > 0;) {
    Polynomial& position = now_.part[stage.index[digits[j].dim]];
    std::int64_t stride = 1;
    for (std::size_t inner = j + 1; inner < index.size(); ++inner)
      if (digits[inner].dim == digits[j].dim) stride *= now_.ranges.at(index[inner]).high;
    bind(index[j], digits[j].size);
    position += Polynomial(index[j]) * Polynomial(stride);
  }
}

/// The whole's digit as the part's and where the part begins. Returns the digit's size there.
std::int64_t PartValues::bind(Symbol digit, std::int64_t size) {
  const auto found = problem_.cut.find(digit);
  const Interval values = found == problem_.cut.end() ? Interval{0, size} : found->second;
  now_.whole[digit] = Polynomial(digit) + Polynomial(values.low);
  now_.ranges[digit] = {0, values.high - values.low};
  return values.high - values.low;
}

Polynomial PartValues::finished(const Polynomial& p) const {
  return with_solution(p, known_).substitute([&](Symbol s) -> std::optional<Polynomial> {
    if (is_unknown(s) && !keeps_unknowns_) return Polynomial(0);  // nothing depends on it
    const auto range = now_.ranges.find(s);
    if (range == now_.ranges.end() || range->second.high - range->second.low != 1)
      return std::nullopt;
    return Polynomial(range->second.low);
  });
}

Polynomial PartValues::of(const Polynomial& p, const Environment& values) const {
  return finished(p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
    const auto found = values.find(symbol);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }));
}
Polynomial PartValues::of_whole(const Polynomial& p) const {
  return of(space_.substitute(p), now_.whole);
}

bool PartValues::is_possible(const Constraints& constraints, bool is_whole) const {
  Constraints over = substituted(constraints, is_whole);
  std::erase_if(over, [](const Constraint& c) { return has_unknown(c.expression); });
  Ranges ranges = now_.ranges;
  return analysis::narrow(over, ranges);
}

Constraints PartValues::substituted(const Constraints& constraints, bool is_whole) const {
  Constraints result;
  for (const Constraint& c : constraints)
    result.push_back({c.kind, is_whole ? of_whole(c.expression) : of_part(c.expression)});
  return result;
}

bool PartValues::enter_stage_of_whole(const ExprNode& read) {
  std::vector<Polynomial> index;
  for (const Polynomial& p : read.index) index.push_back(of_whole(p));
  core::Dims radices;
  std::vector<std::size_t> dims;
  for (const DimDigit& d : space_.digits_of(read.tensor)) {
    radices.push_back(d.size);
    dims.push_back(d.dim);
  }
  const auto digits =
      digits_of_index(index, radices, dims, read.kind == ExprKind::kReadFlat, now_.ranges);
  if (!digits) return false;
  const auto symbols = space_.index_of(read.tensor);
  for (std::size_t j = 0; j < symbols.size(); ++j) now_.whole[symbols[j]] = (*digits)[j];
  return true;
}

bool PartValues::enter_stage_of_part(const ExprNode& read) {
  const Stage& stage = part_.stages[read.tensor - part_.input_count];
  std::vector<Polynomial> index;
  for (const Polynomial& p : read.index) index.push_back(of_part(p));
  const core::Dims sizes = *core::concrete(stage.shape);
  std::vector<std::size_t> dims(sizes.size());
  for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = d;
  const auto digits =
      digits_of_index(index, sizes, dims, read.kind == ExprKind::kReadFlat, now_.ranges);
  if (!digits) return false;
  for (std::size_t d = 0; d < dims.size(); ++d) now_.part[stage.index[d]] = (*digits)[d];
  return true;
}

void PartValues::drop_single_values(std::vector<Binder>& a, std::vector<Binder>& b) {
  if (a.size() == b.size()) return;
  std::erase_if(a, [&](const Binder& binder) {
    const auto digits = space_.digits_of(binder.variable);
    for (const VariableDigit& d : digits) {
      const auto found = problem_.cut.find(d.symbol);
      if (d.size != 1 &&
          (found == problem_.cut.end() || found->second.high - found->second.low != 1))
        return false;
    }
    for (const VariableDigit& d : digits) bind(d.symbol, d.size);
    return !digits.empty();
  });
  std::erase_if(b, [&](const Binder& binder) {
    if (binder.low != Polynomial(0) || binder.high != Polynomial(1)) return false;
    now_.part[binder.variable] = 0;
    return true;
  });
}

bool PartValues::bind(const Binder& a, const Binder& b, Ranges& all) {
  const auto size = b.high.as_constant();
  const auto size_of_a = a.high.as_constant();
  if (a.low != Polynomial(0) || b.low != Polynomial(0) || !size || !size_of_a) return false;
  const VariableDigit whole{a.variable, 1, *size_of_a};
  auto digits = space_.digits_of(a.variable);
  if (digits.empty()) digits = std::span(&whole, 1);  // it indexes nothing
  std::int64_t own = 1, full = 1;
  for (const VariableDigit& d : digits) {
    const auto found = problem_.cut.find(d.symbol);
    own *= found == problem_.cut.end() ? d.size : found->second.high - found->second.low;
    full *= d.size;
  }
  if (own != *size && (own != full || digits.size() != 1)) return false;
  Polynomial position;
  std::int64_t stride = 1;
  for (std::size_t j = digits.size(); j-- > 0;) {
    const std::int64_t extent = bind(digits[j].symbol, digits[j].size);
    position += Polynomial(digits[j].symbol) * Polynomial(stride);
    stride *= extent;
  }
  now_.part[b.variable] = position;
  if (own != *size) bind_some(digits[0], *size, all);
  return true;
}

/// The part's sum runs over as many values as its input has; which, its reads tell.
void PartValues::bind_some(const VariableDigit& digit, std::int64_t size, Ranges& all) {
  const Symbol offset = unknown(digit.symbol.id - Symbol::kFirstIndex);
  const Polynomial begin = finished(Polynomial(offset));
  now_.whole[digit.symbol] = Polynomial(digit.symbol) + begin;
  now_.ranges[digit.symbol] = {0, size};
  if (const auto number = begin.as_constant()) all[digit.symbol] = {-*number, digit.size - *number};
}

}  // namespace soapstone::ops::partition
