// How many tiny launches a second an executor makes: what the way from a plan to its kernels costs,
// as the kernels themselves do next to nothing. Not part of ctest.
#include <benchmark/benchmark.h>

#include "core/base/check.h"
#include "cpu/cpu_backend.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"

namespace soapstone::runtime {
namespace {

constexpr int kLaunches = 512;

/// x, op(x), op(op(x)), … A binary operator takes `x` as its second operand each time.
core::Graph chain(std::string_view op, const core::Dims& dims, bool binary) {
  core::GraphBuilder builder("chain");
  const core::TensorId x =
      builder.add_input("x", {core::DataType::kFloat32, core::to_shape(dims), true});
  core::TensorId last = x;
  for (int i = 0; i < kLaunches; ++i) {
    auto result = ops::append(builder, op, binary ? std::vector{last, x} : std::vector{last});
    CHECK(result, "a chain of launches");
    last = (*result)[0];
  }
  builder.set_outputs({last});
  return *std::move(builder).finish();
}

void run_chain(benchmark::State& state, const core::Graph& graph) {
  const auto backend = cpu::make_cpu_backend();
  CHECK(backend, "the CPU backend");
  auto program = Executable::make(graph, **backend, {.fusion = Fusion::kNone});
  CHECK(program, "an executable");
  CHECK(program->run(random_inputs(graph, 1)), "the first run");
  for ([[maybe_unused]] auto _ : state) CHECK(program->run_again(), "a run");
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(program->report().launches));
}

/// Own loops: the smallest kernel that there is.
void bm_relu(benchmark::State& state) { run_chain(state, chain("relu", {8}, false)); }
BENCHMARK(bm_relu)->Unit(benchmark::kMicrosecond);

/// Two inputs each.
void bm_add(benchmark::State& state) { run_chain(state, chain("add", {8}, true)); }
BENCHMARK(bm_add)->Unit(benchmark::kMicrosecond);

/// A oneDNN primitive each.
void bm_matmul(benchmark::State& state) { run_chain(state, chain("matmul", {4, 4}, true)); }
BENCHMARK(bm_matmul)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace soapstone::runtime
