// Graphs run by generated kernels, beside what their operators mean.
#pragma once

#include <string>
#include <vector>

#include "tests/gpu/host_kernels.h"
#include "tests/ops/op_examples.h"

namespace soapstone::gpu::test {

/// For values of this type, relative to the larger of 1 and the value that is right.
double tolerance_of(core::DataType type);

/// The text of a graph over f32 with another type in its place.
core::Graph graph_over(const std::string& text, core::DataType type);

/// Random inputs; all reals at least 0.5 if `positive`.
std::vector<core::Literal> inputs_of(const core::Graph& graph, bool positive);

/// Runs the kernels of a library that is compiled.
void expect_right(const KernelGraph& kernels, const HostKernels& library, double tolerance,
                  bool positive = false);

}  // namespace soapstone::gpu::test
