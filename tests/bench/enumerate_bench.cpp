// Times the enumeration of the presets' terms (ADR 10).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "generator/enumeration/enumerate.h"
#include "generator/vocabulary/presets.h"

namespace soapstone::generator {
namespace {

/// All themes of a preset, with so many operators on so many threads.
void enumerate_preset(benchmark::State& state, const char* name) {
  const auto found = preset(name);
  double terms = 0, pairs = 0, tables_mb = 0;
  for ([[maybe_unused]] auto _ : state) {
    for (const Theme& theme : found->themes) {
      EnumerateOptions options;
      options.ops = theme.ops(static_cast<int>(state.range(0)));
      options.jobs = static_cast<int>(state.range(1));
      const auto result = enumerate(theme.vocabulary, options);
      if (!result) return state.SkipWithError(result.error().to_string().c_str());
      for (const LevelStatistics& level : result->levels)
        terms += static_cast<double>(level.candidates);
      pairs += static_cast<double>(result->pairs.size());
      tables_mb = std::max(tables_mb, static_cast<double>(result->peak_memory_bytes) / (1 << 20));
    }
  }
  state.counters["terms"] = terms;
  state.counters["pairs"] = pairs;
  state.counters["tables_mb"] = tables_mb;
}
void settings(benchmark::internal::Benchmark* bench,
              const std::vector<std::vector<std::int64_t>>& all) {
  for (const auto& arguments : all) bench->Args(arguments);
  bench->ArgNames({"ops", "jobs"})->Unit(benchmark::kMillisecond)->Iterations(1);
  bench->MeasureProcessCPUTime()->UseRealTime();
}
BENCHMARK_CAPTURE(enumerate_preset, taso, "taso")->Apply([](auto* bench) {
  settings(bench, {{3, 1}, {4, 1}, {4, 2}});
});
BENCHMARK_CAPTURE(enumerate_preset, algebra, "algebra")->Apply([](auto* bench) {
  settings(bench, {{4, 1}, {4, 2}, {5, 2}});
});
BENCHMARK_CAPTURE(enumerate_preset, all, "all")->Apply([](auto* bench) {
  settings(bench, {{3, 1}, {4, 1}, {4, 2}});
});

}  // namespace
}  // namespace soapstone::generator
