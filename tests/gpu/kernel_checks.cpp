// See kernel_checks.h.
#include "tests/gpu/kernel_checks.h"

#include <cmath>

#include "core/text/text.h"
#include "runtime/execution/elements.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::gpu::test {

double tolerance_of(core::DataType type) {
  return type == core::DataType::kFloat32 ? 1e-4 : type == core::DataType::kFloat16 ? 1e-2 : 8e-2;
}

core::Graph graph_over(const std::string& text, core::DataType type) {
  std::string typed = text;
  const std::string_view name = core::to_string(type);
  for (std::size_t at = 0; (at = typed.find("f32", at)) != std::string::npos; at += name.size())
    typed.replace(at, 3, name);
  return graph_of(typed);
}

std::vector<core::Literal> inputs_of(const core::Graph& graph, bool positive) {
  std::vector<core::Literal> inputs = runtime::random_inputs(graph, 1);
  if (!positive) return inputs;
  for (core::Literal& input : inputs) {
    std::vector<double> values = input.to_doubles();
    for (double& value : values) value = std::fabs(value) + 0.5;
    const core::TensorType type{input.data_type(), core::to_shape(input.dims())};
    std::vector<std::byte> bytes(input.bytes().size());
    runtime::store_elements(type, runtime::Layout::kRowMajor, values, bytes.data());
    input = core::Literal::copy(input.data_type(), input.dims(), bytes);
  }
  return inputs;
}

void expect_right(const KernelGraph& kernels, const HostKernels& library, double tolerance,
                  bool positive) {
  const auto inputs = inputs_of(kernels.graph(), positive);
  const auto wanted = runtime::test::expected(kernels.graph(), inputs);
  const auto actual = kernels.run(library, inputs);
  std::string what = core::print(kernels.graph());
  for (const KernelText& text : kernels.texts()) what += text.source;
  what.resize(std::min<std::size_t>(what.size(), 8000));
  for (std::size_t k = 0; k < wanted.size(); ++k)
    runtime::test::expect_close(actual[k], wanted[k], tolerance, what);
}

}  // namespace soapstone::gpu::test
