// Tables of costs between two variables, interned: equal tables have one id, and what is computed
// from the same tables is computed once. Blocks of a network that are alike thus cost as much as
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace soapstone::parallel {

/// The cost of what cannot be.
inline constexpr double kImpossible = std::numeric_limits<double>::infinity();

struct CostTableTag;
using CostTableId = core::Id<CostTableTag>;

/// Row-major; a vector has one row.
struct CostTable {
  std::size_t rows = 0, columns = 0;
  std::vector<double> costs;
  double at(std::size_t row, std::size_t column) const { return costs[row * columns + column]; }
  bool operator==(const CostTable&) const = default;
};

/// Immutable tables and the results of operations on them. For one thread at a time.
class CostTables {
 public:
  CostTableId intern(CostTable table);
  const CostTable& operator[](CostTableId id) const { return tables_[id.index()].table; }
  std::size_t size() const { return tables_.size(); }

  /// A column of zeros.
  CostTableId zeros(std::size_t rows);
  CostTableId transposed(CostTableId a);
  /// Precondition: same rows and columns.
  CostTableId sum(CostTableId a, CostTableId b);

  /// The least cost over a variable in the middle, and where it is.
  struct Minimum {
    CostTableId costs;
    std::vector<std::uint32_t> argument;  ///< Row-major: the choice that is least.
  };
  /// (i, j) ↦ min over c of left(i, c) + own(c) + right(c, j). `own` is a vector; the first least
  /// choice counts. Complexity: rows · choices · columns, once for equal arguments. The result
  /// lives as long as this object.
  const Minimum& through(CostTableId left, CostTableId own, CostTableId right);

 private:
  struct Entry {
    CostTable table;
    CostTableId transposed = CostTableId::none();
  };
  CostTableId add(CostTable table, std::uint64_t hash);

  std::deque<Entry> tables_;  // references to tables stay valid
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  /// What an operation is applied to; a sum has no third table.
  struct Operands {
    CostTableId a, b, c;
    bool operator==(const Operands&) const = default;
  };
  struct HashOfOperands {
    std::size_t operator()(const Operands& operands) const;
  };
  std::map<std::size_t, CostTableId> zeros_;
  std::unordered_map<Operands, CostTableId, HashOfOperands> sums_;
  std::unordered_map<Operands, Minimum, HashOfOperands> minima_;  // references stay valid
};

}  // namespace soapstone::parallel
