// What it takes to enumerate the terms over TASO's operators, on one thread: ADR 10.
#include <benchmark/benchmark.h>

#include "generator/enumerate.h"
#include "generator/presets.h"

namespace soapstone::generator {
namespace {

void enumerate_taso(benchmark::State& state) {
  const Vocabulary vocabulary = preset("taso")->themes[0].vocabulary;
  EnumerateOptions options;
  options.ops = static_cast<int>(state.range(0));
  options.jobs = 1;
  for (auto _ : state) {
    const auto found = enumerate(vocabulary, options);
    if (!found) return state.SkipWithError(found.error().to_string().c_str());
    state.counters["terms"] = 0;
    for (const LevelStatistics& level : found->levels)
      state.counters["terms"] += static_cast<double>(level.candidates);
    state.counters["pairs"] = static_cast<double>(found->pairs.size());
    state.counters["tables_mb"] = static_cast<double>(found->peak_memory_bytes) / (1 << 20);
  }
}
BENCHMARK(enumerate_taso)->Arg(3)->Arg(4)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace soapstone::generator
