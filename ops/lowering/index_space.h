// The index variables of a comprehension with numbers for their ranges, and integer expressions of
// them as tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/tensor_type.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// The values of an integer expression by the variables that it depends on, in row-major order.
struct IndexTable {
  std::vector<Symbol> axes;
  std::vector<std::int64_t> values;
};

/// Tables with more entries are not made.
inline constexpr std::int64_t kMostTableEntries = std::int64_t{1} << 22;

class IndexSpace {
 public:
  /// Variables have an order: all lists of axes are in it. A new one comes behind all others, or in
  /// front of the one that is named.
  void add(Symbol variable, std::int64_t low, std::int64_t size,
           std::optional<Symbol> before = std::nullopt);
  bool has(Symbol variable) const { return ranges_.contains(variable); }
  /// From now on the variable stands for what the table says.
  void define(Symbol variable, IndexTable value);

  std::int64_t low(Symbol variable) const { return ranges_.at(variable).low; }
  std::int64_t size(Symbol variable) const { return ranges_.at(variable).size; }
  bool is_defined(Symbol variable) const { return defined_.contains(variable); }
  core::Dims dims(std::span<const Symbol> axes) const;
  /// Product of the sizes.
  std::int64_t count(std::span<const Symbol> axes) const;

  /// The variables on which the expression depends; those that are defined are replaced.
  std::vector<Symbol> axes_of(const Polynomial& expression) const;
  std::vector<Symbol> united(std::span<const Symbol> a, std::span<const Symbol> b) const;
  void sort(std::vector<Symbol>& axes) const;

  /// None: it would be too large.
  std::optional<IndexTable> tabulate(const Polynomial& expression) const;
  /// 1 where all hold, else 0.
  std::optional<IndexTable> tabulate(std::span<const Constraint> constraints) const;
  /// The same, over these axes, which contain those of the expression.
  std::vector<std::int64_t> values(const Polynomial& expression,
                                   std::span<const Symbol> axes) const;

 private:
  struct Range {
    std::int64_t low = 0, size = 0;
    std::size_t rank = 0;
  };
  std::map<Symbol, Range> ranges_;
  std::map<Symbol, IndexTable> defined_;
};

}  // namespace soapstone::ops
