// The program that CompiledSemantics runs. All affine forms of a stage live in `slots`, which the
// loops keep up to date by additions. One output index, the lane, is not a loop: every node is
// evaluated for a run of lanes at once, so the cost of interpreting is shared by them and inner
// loops are tight.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/evaluation/evaluate_tree.h"
#include "ops/evaluation/integers.h"

namespace soapstone::ops::evaluation {

/// Value of an affine form at lane l: slots[slot] + lane · l.
struct Form {
  std::uint32_t slot = 0;
  std::int64_t lane = 0;
};

/// How much a slot changes when a variable grows by one.
struct Update {
  std::uint32_t slot;
  std::int64_t stride;
};

/// form + step · v ≥ 0 (or = 0), where v is the variable of the loop that the bound stands at.
struct Bound {
  Constraint::Kind kind;
  Form form;
  std::int64_t step = 0;
};

struct Loop {
  std::uint32_t variable;
  std::int64_t low, high;
  std::vector<Update> updates;
  std::vector<Bound> range_bounds;  ///< Narrow the loop when it is entered; no lane in them.
  std::vector<Bound> lane_bounds;   ///< Narrow the lanes in every iteration.
};

struct Nest {
  std::vector<Bound> range_bounds;  ///< Conditions on variables outside.
  std::vector<Bound> lane_bounds;
  std::vector<Loop> loops;
};

/// Σ over a nest of a·b or a, both plain reads: convolution, matmul, mean. Strides are those of the
/// innermost loop.
struct Product {
  std::uint32_t a = 0, b = 0;  ///< Nodes; the same node twice: there is no b.
  std::int64_t a_stride = 0, b_stride = 0;
  bool lanes_inside = false;  ///< The lane loop is the inner one of the last two.
};

template <class T>
struct Node {
  NodeKind kind = NodeKind::kNumber;
  bool uniform = false;  ///< The same for all lanes.
  bool is_product = false;
  Function function = Function::kRelu;
  std::uint32_t tensor = 0;
  Form form;
  T number{};  ///< The value of kNumber; the factor of a product.
  std::vector<std::uint32_t> children;
  std::vector<Nest> nests;  ///< One per child of kGuard, kSum, kMax; a lookup's body has one.
  Product product;
};

struct Dimension {
  std::int64_t extent;
  std::vector<Update> updates;
};

template <class T>
struct StageProgram {
  std::vector<std::int64_t> slots;    ///< Values where all variables are 0.
  std::vector<Dimension> dimensions;  ///< All output loops but the lanes, outermost first.
  std::int64_t lanes = 1;
  std::vector<Update> lane_updates;
  Form out;
  std::vector<Node<T>> nodes;
  std::uint32_t root = 0;
  std::uint32_t scratch_buffers = 0;  ///< Each of `block()` elements.
  bool is_empty = false;

  static constexpr std::int64_t kBlock = 256;  ///< Lanes at a time: a few buffers fit the L1 cache.
  std::int64_t block() const { return lanes < kBlock ? lanes : kBlock; }
};

template <class T>
StageProgram<T> lower(const StageTree& stage);

extern template StageProgram<double> lower(const StageTree& stage);
extern template StageProgram<std::uint64_t> lower(const StageTree& stage);
extern template StageProgram<Integer> lower(const StageTree& stage);

/// Everything a running stage touches.
template <class T>
struct Frame {
  const StageProgram<T>& program;
  std::span<const T* const> tensors;  ///< Inputs, then stages.
  T* out;
  std::int64_t* slots;  ///< The program's slots; run_stage fills them.
  T* scratch;           ///< scratch_buffers · block() elements.
  std::uint64_t function_key;
  /// The caller looks at core::StopScope afterward: if it asks to stop, `out` may hold nothing of
  /// use.
  bool may_stop = false;
};
template <class T>
void run_stage(const Frame<T>& frame);

extern template void run_stage(const Frame<double>& frame);
extern template void run_stage(const Frame<std::uint64_t>& frame);
extern template void run_stage(const Frame<Integer>& frame);

}  // namespace soapstone::ops::evaluation
