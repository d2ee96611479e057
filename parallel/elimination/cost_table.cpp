#include "parallel/elimination/cost_table.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/hash.h"

namespace soapstone::parallel {
namespace {

std::uint64_t hash_of(const CostTable& table) {
  const std::uint64_t contents = core::hash_bytes(std::as_bytes(std::span(table.costs)));
  return core::hash_combine(core::hash_combine(table.rows, table.columns), contents);
}

}  // namespace

CostTableId CostTables::intern(CostTable table) {
  CHECK(table.costs.size() == table.rows * table.columns, "a table lacks costs");
  const std::uint64_t hash = hash_of(table);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (tables_[it->second].table == table) return CostTableId(it->second);
  return add(std::move(table), hash);
}

CostTableId CostTables::add(CostTable table, std::uint64_t hash) {
  const auto index = static_cast<std::uint32_t>(tables_.size());
  tables_.push_back({std::move(table)});
  by_hash_.emplace(hash, index);
  return CostTableId(index);
}

std::size_t CostTables::HashOfOperands::operator()(const Operands& operands) const {
  return core::hash_combine(core::hash_combine(operands.a.value, operands.b.value),
                            operands.c.value);
}

CostTableId CostTables::zeros(std::size_t rows) {
  const auto [at, is_new] = zeros_.try_emplace(rows);
  if (is_new) at->second = intern({rows, 1, std::vector<double>(rows, 0.0)});
  return at->second;
}

CostTableId CostTables::transposed(CostTableId a) {
  if (tables_[a.index()].transposed.valid()) return tables_[a.index()].transposed;
  const CostTable& table = (*this)[a];
  CostTable result{table.columns, table.rows, std::vector<double>(table.costs.size())};
  for (std::size_t i = 0; i < table.rows; ++i)
    for (std::size_t j = 0; j < table.columns; ++j)
      result.costs[j * table.rows + i] = table.at(i, j);
  const CostTableId id = intern(std::move(result));
  tables_[a.index()].transposed = id;
  tables_[id.index()].transposed = a;
  return id;
}

CostTableId CostTables::sum(CostTableId a, CostTableId b) {
  const Operands key{std::min(a, b), std::max(a, b), CostTableId::none()};
  const auto known = sums_.find(key);
  if (known != sums_.end()) return known->second;
  CostTable result = (*this)[a];
  const CostTable& other = (*this)[b];
  CHECK(result.rows == other.rows && result.columns == other.columns, "tables of unlike sizes");
  for (std::size_t i = 0; i < result.costs.size(); ++i) result.costs[i] += other.costs[i];
  const CostTableId id = intern(std::move(result));
  sums_.emplace(key, id);
  return id;
}

const CostTables::Minimum& CostTables::through(CostTableId left, CostTableId own,
                                               CostTableId right) {
  const Operands key{left, own, right};
  const auto known = minima_.find(key);
  if (known != minima_.end()) return known->second;
  const CostTable& a = (*this)[left];
  const CostTable& middle = (*this)[own];
  const CostTable& b = (*this)[right];
  CHECK(middle.rows == 1 && a.columns == middle.columns && b.rows == middle.columns,
        "tables that do not meet");
  CostTable result{a.rows, b.columns, std::vector<double>(a.rows * b.columns, kImpossible)};
  std::vector<std::uint32_t> argument(result.costs.size(), 0);
  for (std::size_t i = 0; i < a.rows; ++i) {
    double* best = result.costs.data() + i * b.columns;
    std::uint32_t* where = argument.data() + i * b.columns;
    for (std::size_t c = 0; c < middle.columns; ++c) {
      const double here = a.at(i, c) + middle.costs[c];
      if (here == kImpossible) continue;
      const double* to = b.costs.data() + c * b.columns;
      for (std::size_t j = 0; j < b.columns; ++j) {
        const double cost = here + to[j];
        const bool is_less = cost < best[j];
        best[j] = is_less ? cost : best[j];
        where[j] = is_less ? static_cast<std::uint32_t>(c) : where[j];
      }
    }
  }
  const CostTableId costs = intern(std::move(result));
  return minima_.emplace(key, Minimum{costs, std::move(argument)}).first->second;
}

}  // namespace soapstone::parallel
