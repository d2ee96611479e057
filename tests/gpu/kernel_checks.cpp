// See kernel_checks.h.
#include "tests/gpu/kernel_checks.h"

#include "core/text/text.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::gpu::test {

core::Graph graph_over(const std::string& text, core::DataType type) {
  return graph_of(runtime::test::text_over(text, type));
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
