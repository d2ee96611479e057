// What libraries would compute of the descriptions that they are given, in doubles on the host.
#pragma once

#include <map>
#include <vector>

#include "gpu/forms/matrix_product.h"
#include "gpu/forms/operation_graph.h"

namespace soapstone::gpu::test {

/// Elements as they lie in memory.
using TensorValues = std::map<core::TensorId, std::vector<double>>;

/// Those of all tensors of the graph for random inputs, row-major.
TensorValues all_values(const core::Graph& graph);

/// Writes the result of the operations to its place in `values`, which hold all inputs.
void run_operations(const OperationGraph& graph, TensorValues& values);
void run_product(const MatrixProduct& product, TensorValues& values);

}  // namespace soapstone::gpu::test
