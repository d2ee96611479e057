// Expressions are evaluated at every point of their axes, the last of which runs fastest.
#include "ops/lowering/index_space.h"

#include <algorithm>

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

/// Moves to the next point. False: that was the last one.
bool advance(core::Dims& point, const core::Dims& dims) {
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (++point[d] < dims[d]) return true;
    point[d] = 0;
  }
  return false;
}

std::size_t place_of(std::span<const Symbol> axes, Symbol axis) {
  const auto at = std::ranges::find(axes, axis);
  CHECK(at != axes.end(), "an index variable has no axis");
  return static_cast<std::size_t>(at - axes.begin());
}

}  // namespace

void IndexSpace::add(Symbol variable, std::int64_t low, std::int64_t size,
                     std::optional<Symbol> before) {
  const std::size_t rank = before ? ranges_.at(*before).rank : ranges_.size();
  if (before && !has(variable))
    for (auto& [other, range] : ranges_)
      if (range.rank >= rank) ++range.rank;
  Range& range = ranges_.try_emplace(variable, Range{0, 0, rank}).first->second;
  range.low = low;
  range.size = size;
  defined_.erase(variable);
}

void IndexSpace::define(Symbol variable, IndexTable value) {
  defined_.insert_or_assign(variable, std::move(value));
}

core::Dims IndexSpace::dims(std::span<const Symbol> axes) const {
  core::Dims dims;
  for (const Symbol axis : axes) dims.push_back(size(axis));
  return dims;
}

std::int64_t IndexSpace::count(std::span<const Symbol> axes) const {
  return core::element_count(dims(axes));
}

void IndexSpace::sort(std::vector<Symbol>& axes) const {
  std::ranges::sort(axes,
                    [&](Symbol a, Symbol b) { return ranges_.at(a).rank < ranges_.at(b).rank; });
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
}

std::vector<Symbol> IndexSpace::united(std::span<const Symbol> a, std::span<const Symbol> b) const {
  std::vector<Symbol> axes(a.begin(), a.end());
  axes.insert(axes.end(), b.begin(), b.end());
  sort(axes);
  return axes;
}

std::vector<Symbol> IndexSpace::axes_of(const Polynomial& expression) const {
  std::vector<Symbol> axes;
  for (const Symbol symbol : expression.symbols()) {
    const auto defined = defined_.find(symbol);
    if (defined == defined_.end())
      axes.push_back(symbol);
    else
      axes.insert(axes.end(), defined->second.axes.begin(), defined->second.axes.end());
  }
  sort(axes);
  return axes;
}

std::vector<std::int64_t> IndexSpace::values(const Polynomial& expression,
                                             std::span<const Symbol> axes) const {
  struct Variable {
    Symbol symbol;
    const IndexTable* table;
    std::vector<std::size_t> places;  // of its own axis, or of those of its table
  };
  std::vector<Variable> variables;
  for (const Symbol symbol : expression.symbols()) {
    const auto defined = defined_.find(symbol);
    Variable variable{symbol, defined == defined_.end() ? nullptr : &defined->second, {}};
    if (!variable.table)
      variable.places.push_back(place_of(axes, symbol));
    else
      for (const Symbol axis : variable.table->axes)
        variable.places.push_back(place_of(axes, axis));
    variables.push_back(std::move(variable));
  }
  const core::Dims sizes = dims(axes);
  core::Dims point(sizes.size(), 0);
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(core::element_count(sizes)));
  std::map<Symbol, std::int64_t> at;
  do {
    for (const Variable& variable : variables) {
      if (!variable.table) {
        at[variable.symbol] = low(variable.symbol) + point[variable.places[0]];
        continue;
      }
      std::int64_t position = 0;
      for (std::size_t k = 0; k < variable.places.size(); ++k)
        position = position * size(variable.table->axes[k]) + point[variable.places[k]];
      at[variable.symbol] = variable.table->values[static_cast<std::size_t>(position)];
    }
    result.push_back(expression.evaluate([&](Symbol symbol) { return at.at(symbol); }));
  } while (advance(point, sizes));
  return result;
}

std::optional<IndexTable> IndexSpace::tabulate(const Polynomial& expression) const {
  std::vector<Symbol> axes = axes_of(expression);
  if (count(axes) > kMostTableEntries) return std::nullopt;
  auto table = values(expression, axes);
  return IndexTable{std::move(axes), std::move(table)};
}

std::optional<IndexTable> IndexSpace::tabulate(std::span<const Constraint> constraints) const {
  std::vector<Symbol> axes;
  for (const Constraint& c : constraints) axes = united(axes, axes_of(c.expression));
  if (count(axes) > kMostTableEntries) return std::nullopt;
  IndexTable table{axes, std::vector<std::int64_t>(static_cast<std::size_t>(count(axes)), 1)};
  for (const Constraint& c : constraints) {
    const auto found = values(c.expression, axes);
    for (std::size_t k = 0; k < found.size(); ++k)
      if (c.kind == Constraint::Kind::kZero ? found[k] != 0 : found[k] < 0) table.values[k] = 0;
  }
  return table;
}

}  // namespace soapstone::ops
