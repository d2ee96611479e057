// Inputs for timing and for comparing graphs.
#include <algorithm>
#include <random>

#include "core/base/random.h"
#include "ops/definition/valid_values.h"
#include "runtime/execution/elements.h"
#include "runtime/execution/executor.h"

namespace soapstone::runtime {
std::vector<core::Literal> random_inputs(const core::Graph& graph, std::uint64_t seed,
                                         std::int64_t integer_bound) {
  std::mt19937_64 random(seed);
  std::vector<core::Literal> inputs;
  const auto valid = ops::valid_values(graph);
  for (core::TensorId id : graph.inputs()) {
    const core::TensorType& type = graph.tensor(id).type;
    const core::Dims dims = dims_of(type);
    if (core::size_bytes(type.data_type) == 0) {  // texts: nothing here reads them
      inputs.push_back(core::Literal::copy(type.data_type, dims, {}));
      continue;
    }
    std::vector<double> values(static_cast<std::size_t>(core::element_count(dims)));
    const bool floating = core::is_floating(type.data_type);
    const auto range = valid[id.index()].value_or(ops::ValueRange{0, integer_bound});
    const auto count =
        static_cast<std::uint64_t>(std::max<std::int64_t>(range.high - range.low, 1));
    for (double& value : values)
      value = floating
                  ? core::draw_normal(random)
                  : static_cast<double>(range.low + static_cast<std::int64_t>(random() % count));
    std::vector<std::byte> bytes(storage_bytes(type));
    store_elements(type, Layout::kRowMajor, values, bytes.data());
    inputs.push_back(core::Literal::copy(type.data_type, dims, bytes));
  }
  return inputs;
}

}  // namespace soapstone::runtime
