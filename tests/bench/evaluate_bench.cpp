// How long the reference evaluator takes, from the generator's tiny operators to a layer of a real
// network. Not part of ctest.
#include <benchmark/benchmark.h>

#include <vector>

#include "ops/evaluation/evaluate.h"
#include "tests/ops/comprehension_samples.h"

namespace soapstone::ops {
namespace {

template <class T>
void run_two_inputs(benchmark::State& state, const Semantics& semantics, const core::Dims& x,
                    const core::Dims& y, const core::Dims& z) {
  const core::Dims dims[] = {x, y};
  const CompiledSemantics<T> program(semantics, dims);
  std::vector<T> a(static_cast<std::size_t>(core::element_count(x)), T(3));
  std::vector<T> b(static_cast<std::size_t>(core::element_count(y)), T(5));
  std::vector<T> c(static_cast<std::size_t>(core::element_count(z)));
  const std::span<const T> inputs[] = {a, b};
  const std::span<T> outputs[] = {c};
  for ([[maybe_unused]] auto _ : state) {
    program.compute(inputs, outputs);
    benchmark::DoNotOptimize(c.data());
  }
  state.SetItemsProcessed(state.iterations() * core::element_count(z));
}

template <class T>
void bm_conv(benchmark::State& state) {
  const std::int64_t c = state.range(0), size = state.range(1);
  const samples::Conv p{.c = c, .h = size, .w = size, .o = c};
  run_two_inputs<T>(state, samples::conv(p), p.x(), p.weight(), p.y());
}
BENCHMARK(bm_conv<double>)
    ->Args({64, 56})
    ->Args({512, 7})
    ->Args({4, 4})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(bm_conv<Field::Value>)->Args({64, 56})->Args({4, 4})->Unit(benchmark::kMicrosecond);

template <class T>
void bm_matmul(benchmark::State& state) {
  const std::int64_t m = state.range(0);
  run_two_inputs<T>(state, samples::matmul(m, m, m), {m, m}, {m, m}, {m, m});
}
BENCHMARK(bm_matmul<double>)->Arg(4)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);
BENCHMARK(bm_matmul<Field::Value>)->Arg(2)->Arg(4)->Arg(64)->Unit(benchmark::kMicrosecond);

void bm_add(benchmark::State& state) {
  SemanticsBuilder b(2);
  const core::Dims dims{8, state.range(0)};
  b.output(core::to_shape(dims),
           [&](const std::vector<Polynomial>& i) { return read(0, i) + read(1, i); });
  run_two_inputs<Field::Value>(state, std::move(b).finish(), dims, dims, dims);
}
BENCHMARK(bm_add)->Arg(2)->Arg(1 << 16)->Unit(benchmark::kMicrosecond);

void bm_gather(benchmark::State& state) {
  const std::int64_t rows = state.range(0);
  run_two_inputs<double>(state, samples::gather(rows, 128, 768), {rows, 768}, {128}, {128, 768});
}
BENCHMARK(bm_gather)->Arg(30522)->Unit(benchmark::kMicrosecond);

void bm_compile_conv(benchmark::State& state) {
  const samples::Conv p;
  const core::Dims dims[] = {p.x(), p.weight()};
  const Semantics semantics = samples::conv(p);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(CompiledSemantics<double>(semantics, dims));
}
BENCHMARK(bm_compile_conv)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace soapstone::ops
