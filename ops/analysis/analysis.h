// Derives work and traffic from a comprehension, without running it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graph/graph.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

/// Half-open interval low ≤ i < high.
struct Interval {
  std::int64_t low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

struct Work {
  double flops = 0;       ///< A multiply-add counts two; a function, comparison or max counts one.
  double bytes_read = 0;  ///< Inputs, each once.
  double bytes_written = 0;
};

/// The work of a node with known numeric shapes. Padding does not lessen the count: a convolution
/// costs 2 · output elements · input channels per group · kernel elements, as in the literature. A
/// sum counts only the positions that equations leave: of a strided transposed convolution one
/// position in `stride` has a term for each kernel element.
/// Opaque nodes: bytes only. OpClass::kMovement: one flop an output element, and no more of an
/// input is read than there are output elements (a gather does not read its whole table).
/// OpClass::kOrder: n·log2(n) for its n elements.
/// OpClass::kView: nothing.
Work work_of(const core::Graph& graph, core::NodeId node);

/// How many elements a computation reads of each input and writes of each output.
struct ElementCounts {
  std::vector<double> read, written;
};

/// The work of a computation that does of the node what `elements` says, in `flops` operations.
Work work_of(const core::Graph& graph, core::NodeId node, const ElementCounts& elements,
             const std::function<double()>& flops);

using BinderLength = std::function<double(const Binder&)>;
/// All values of a binder.
double binder_length(const Binder& binder);
/// Operations for one element of the stage, on average over all of them.
double operations_of(const Stage& stage, const BinderLength& length);

}  // namespace soapstone::ops
