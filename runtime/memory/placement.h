// Places the tensors of an execution plan: which tensors share a buffer, and when each buffer is in
// use.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "runtime/launches/execution_plan.h"
#include "runtime/memory/memory_plan.h"

namespace soapstone::runtime {

/// Places all activations of a plan. A tensor in two layouts has two places.
class Placement {
 public:
  /// Slots get offsets, or only the times at which they are in use.
  enum class Detail : std::uint8_t { kOffsets, kLifetimes };
  /// Whether results of the graph get slots, or lie outside the arena as inputs do.
  enum class Results : std::uint8_t { kInArena, kOutside };
  /// `in_place[k]`: the input that launch k may overwrite with its output 0, if any.
  Placement(const core::Graph& graph, const ExecutionPlan& plan,
            std::span<const std::optional<std::size_t>> in_place, Detail detail = Detail::kOffsets,
            Results results = Results::kInArena);

  /// Of results that lie outside those are kGraphOutput that a kernel can write there: no views.
  enum class Home : std::uint8_t { kArena, kGraphInput, kGraphOutput, kConstant };
  struct Place {
    Home home = Home::kArena;
    core::TensorId source;   ///< The graph input, output or constant, where it is one.
    std::size_t offset = 0;  ///< Bytes from the beginning of the arena or of the source.
  };
  Place of(core::TensorId tensor, Layout layout) const;
  const MemoryPlan& memory() const { return memory_; }
  /// Number in memory().slots of the bytes that hold the tensor; none: it lies outside the arena.
  std::optional<std::size_t> slot_of(core::TensorId tensor, Layout layout) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Value {
    core::TensorId tensor;
    Home home = Home::kArena;
    std::size_t bytes = 0;
    std::uint32_t inside = kNone;  // the value in whose bytes it lies, `offset` from their start
    std::size_t offset = 0;
    std::size_t first_use = 0, last_use = 0;  // of all values inside it; only kept for roots
    std::size_t slot = 0;
  };
  struct Found {
    std::uint32_t root;
    std::size_t offset;
  };

  std::uint32_t& number(core::TensorId tensor, Layout layout);
  std::uint32_t make(core::TensorId tensor, Layout layout, Home home, std::size_t step);
  void read(core::TensorId tensor, Layout layout, std::size_t step);
  void add_view(const View& view, std::size_t step);
  void add_join(const core::Node& concat, std::size_t step);
  void add_step(const RewriteStep& step, std::size_t at);
  void share_in_place(const Launch& launch, const LaunchLayouts& layouts, std::size_t input,
                      std::size_t step);
  Found find(std::uint32_t value) const;
  void move_results_outside();
  void assign_slots(Detail detail);

  const core::Graph& graph_;
  const ExecutionPlan& plan_;
  std::vector<std::uint32_t> numbers_;  // by tensor and layout
  std::vector<Value> values_;
  MemoryPlan memory_;
};

}  // namespace soapstone::runtime
