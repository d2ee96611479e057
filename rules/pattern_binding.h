// What a search has bound so far: tensors to slots, numbers to symbols. Bindings are taken back in
// the order in which they were made; nothing is allocated while a search runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rules/pattern.h"

namespace soapstone::rules {

class PatternBinding {
 public:
  /// Room for the largest pattern.
  PatternBinding(const Graph& graph, std::size_t slots, std::size_t symbols, std::size_t equations);

  /// From here on for this pattern. Precondition: all was undone.
  void use(const Pattern& pattern) { pattern_ = &pattern; }

  /// How much is bound.
  struct Mark {
    std::size_t slots, symbols;
  };
  Mark mark() const { return {slot_trail_.size(), symbol_trail_.size()}; }
  void undo(Mark mark);

  // Each binds what is still free and compares what is not; false: something differs.
  bool match_attributes(const NodePattern& wanted, const core::Node& node);
  bool bind_outputs(const NodePattern& wanted, const core::Node& node);
  /// `exchanged`: the first two inputs change places.
  bool bind_inputs(const NodePattern& wanted, const core::Node& node, bool exchanged);
  /// Finds the numbers of symbols that stand in sums and products only. Last, when all is bound.
  bool solve_equations();

  TensorId slot(std::size_t k) const { return slots_[k]; }
  const std::vector<TensorId>& slots() const { return slots_; }
  /// By symbol. Those of derived sizes are the caller's to fill in.
  std::vector<std::int64_t>& numbers() { return numbers_; }

 private:
  bool bind(std::int32_t slot, TensorId id);
  bool admits(const SlotPattern& wanted, TensorId id);
  bool match_size(const SizePattern& wanted, const core::Polynomial& size) {
    return size.is_constant() && match_number(wanted, size.constant());
  }
  bool match_number(const SizePattern& wanted, std::int64_t number);
  bool match_attribute(const AttributePattern& wanted, const core::AttributeValue& value);
  bool evaluate(const core::Polynomial& p, std::int64_t& result) const;

  const Graph& graph_;
  const Pattern* pattern_ = nullptr;
  std::vector<TensorId> slots_;
  std::vector<std::int64_t> numbers_;
  std::vector<char> bound_;        // by symbol
  std::vector<std::int64_t> met_;  // by equation: the number that was met
  std::vector<std::int32_t> slot_trail_;
  std::vector<std::uint32_t> symbol_trail_;
};

}  // namespace soapstone::rules
