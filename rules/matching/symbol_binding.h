// The numbers that a search has bound to the symbols of a rule, from shapes and attributes. Shared
// by matching in graphs and in e-graphs. It knows nothing of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rules/matching/pattern.h"

namespace soapstone::rules {

class SymbolBinding {
 public:
  /// Room for the largest pattern.
  SymbolBinding(std::size_t symbols, std::size_t equations);

  /// From here on for this pattern. Precondition: all was undone.
  void use(const Pattern& pattern) { pattern_ = &pattern; }

  std::size_t bound_symbols() const { return trail_.size(); }
  void undo_symbols(std::size_t count);
  /// Binds what the other one has bound under numbers of its own: symbols by its numbers; pairs of
  /// an equation's number here and there.
  void take(const SymbolBinding& other, std::span<const std::uint32_t> symbols,
            std::span<const std::pair<std::uint32_t, std::uint32_t>> equations);

  // Each binds what is still free and compares what is not; false: something differs.
  bool match_attributes(const NodePattern& wanted, const core::Attributes& attributes);
  bool match_real(const SizePattern& wanted, double number);
  bool match_shape(const std::vector<SizePattern>& wanted, const core::Shape& shape);
  /// Finds the numbers of symbols that stand in sums and products only. Last, when all is bound.
  bool solve_equations();

  /// By symbol. The caller fills in those of derived sizes.
  std::vector<std::int64_t>& numbers() { return numbers_; }

 protected:
  const Pattern& pattern() const { return *pattern_; }

 private:
  bool match_size(const SizePattern& wanted, const core::Polynomial& size) {
    return size.is_constant() && match_number(wanted, size.constant());
  }
  bool match_number(const SizePattern& wanted, std::int64_t number);
  bool may_be_met(const Equation& equation, std::int64_t number) const;
  bool match_attribute(const AttributePattern& wanted, const core::AttributeValue& value);
  bool evaluate(const core::Polynomial& p, std::int64_t& result) const;

  const Pattern* pattern_ = nullptr;
  std::vector<std::int64_t> numbers_;
  std::vector<char> bound_;        // by symbol
  std::vector<std::int64_t> met_;  // by equation: the number that was met
  std::vector<std::uint32_t> trail_;
};

/// Whether a constant of the graph is the one that the slot asks for.
bool is_wanted(const core::Literal& value, const SlotPattern& wanted);
/// Proofs are about sizes from 1 on.
bool is_empty(const core::TensorType& type);

}  // namespace soapstone::rules
