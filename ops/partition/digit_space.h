// A node's comprehension with every index variable and every dimension taken apart into digits.
// Reads are exact, digit by digit, wherever the definition allows it: the basis of loops, regions
// and restriction.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/analysis/analysis_intervals.h"
#include "ops/partition/accesses.h"

namespace soapstone::ops::partition {

/// Digit number `digit` of a position is ⌊position / stride⌋ mod size.
struct Digit {
  std::int64_t stride, size;
};
/// A digit of an index variable, as a variable of its own.
struct VariableDigit {
  Symbol symbol;
  std::int64_t stride, size;
};
/// A digit of a dimension.
struct DimDigit {
  std::size_t dim;
  std::int64_t stride, size;
};

class DigitSpace {
 public:
  /// Preconditions: not opaque, all shapes are numbers above 0.
  DigitSpace(const core::Graph& graph, core::NodeId node);

  const Semantics& semantics() const { return semantics_; }
  std::size_t input_count() const { return semantics_.input_count; }
  /// Inputs, then stages.
  std::span<const core::Dims> dims() const { return dims_; }
  /// Digits of an index variable, outermost first; none if its bounds are no numbers from 0 on.
  std::span<const VariableDigit> digits_of(Symbol variable) const;
  /// Digits of all dimensions of a tensor, in row-major order.
  std::span<const DimDigit> digits_of(std::uint32_t tensor) const { return tensor_digits_[tensor]; }
  /// The variables that run over the digits of a stage, as digits_of(tensor) lists them.
  std::span<const Symbol> index_of(std::uint32_t tensor) const {
    return stage_index_[tensor - semantics_.input_count];
  }
  /// The reads, all index expressions over digits.
  std::span<const Access> accesses() const { return accesses_; }
  /// All values of all digits that are index variables of stages.
  const analysis::Ranges& stage_ranges() const { return stage_ranges_; }

  /// The polynomial over digits.
  Polynomial substitute(const Polynomial& p) const;
  /// The digits, or groups of digits that do not separate, that a read takes: `first` and `last`
  /// count digits_of(tensor).
  std::vector<analysis::Digits> groups_of(const Access& access,
                                          const analysis::Ranges& ranges) const;
  /// Adds the ranges of the binders' digits. False: there is no value.
  bool add_binders(std::span<const Binder> binders, analysis::Ranges& ranges) const;

 private:
  void find_digits();
  void add_variable(Symbol variable, const std::vector<std::int64_t>& breaks);

  Semantics semantics_;
  std::vector<core::Dims> dims_;
  std::vector<Access> accesses_;
  std::map<Symbol, std::vector<VariableDigit>> variables_;
  std::vector<std::vector<DimDigit>> tensor_digits_;
  std::vector<std::vector<Symbol>> stage_index_;
  analysis::Ranges stage_ranges_;
  std::uint32_t next_symbol_ = 0;
  bool has_digits_ = false;  ///< Some variable has two or more.
};

}  // namespace soapstone::ops::partition
