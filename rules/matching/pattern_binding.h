// The bindings that a search through a graph has made so far: tensors to slots, numbers to symbols.
// Bindings are taken back in the order in which they were made; nothing is allocated while a search
// runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rules/matching/symbol_binding.h"

namespace soapstone::rules {

class PatternBinding : public SymbolBinding {
 public:
  /// Room for the largest pattern.
  PatternBinding(const Graph& graph, std::size_t slots, std::size_t symbols, std::size_t equations);

  /// How much is bound.
  struct Mark {
    std::size_t slots, symbols;
  };
  Mark mark() const { return {slot_trail_.size(), bound_symbols()}; }
  void undo(Mark mark);

  // Each binds what is still free and compares what is not; false: something differs.
  bool bind_outputs(const NodePattern& wanted, const core::Node& node);
  /// `exchanged`: the first two inputs change places.
  bool bind_inputs(const NodePattern& wanted, const core::Node& node, bool exchanged);

  TensorId slot(std::size_t k) const { return slots_[k]; }
  const std::vector<TensorId>& slots() const { return slots_; }

 private:
  bool bind(std::int32_t slot, TensorId id);
  bool bind_scalar(const SlotPattern& wanted, TensorId id);
  bool admits(const SlotPattern& wanted, TensorId id);

  const Graph& graph_;
  std::vector<TensorId> slots_;
  std::vector<std::int32_t> slot_trail_;
};

}  // namespace soapstone::rules
