// Graphs run by generated kernels, beside what their operators mean.
#pragma once

#include <string>
#include <vector>

#include "tests/gpu/host_kernels.h"
#include "tests/ops/op_examples.h"
#include "tests/runtime/typed_graphs.h"

namespace soapstone::gpu::test {

using runtime::test::inputs_of;
using runtime::test::tolerance_of;

/// The text of a graph over f32 with another type in its place.
core::Graph graph_over(const std::string& text, core::DataType type);

/// Runs the kernels of a library that is compiled.
void expect_right(const KernelGraph& kernels, const HostKernels& library, double tolerance,
                  bool positive = false);

}  // namespace soapstone::gpu::test
