// Pictures and traces of simulated steps have what the step has.
#include "cli/plan/step_drawing.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parallel/simulation/problem_builder.h"
#include "parallel/simulation/trace_json.h"

namespace soapstone::cli {
namespace {

/// Two operators with a weight, on both of two devices; data crosses between them.
parallel::SimulatedStep two_on_two() {
  const parallel::DeviceKind kind{"d", "d", 1e9, 1e9, {{core::DataType::kFloat32, 1e9}}};
  const parallel::Topology topology =
      *parallel::Topology::make(parallel::Hierarchy{"two", {kind}, {{0, 2}}, {{"bus", 2, 1, 1e9}}});
  parallel::ProblemBuilder builder = *parallel::ProblemBuilder::make(topology, 2);
  const auto first = builder.add_operator("a<b>", {{2, {1000}, {}, 1e8, 5e8}});
  const auto second = builder.add_operator("second", {{2, {2000}, {}, 0, 0}});
  builder.add_edge(first, second, [](std::size_t, std::size_t) {
    return parallel::sample_overlaps({2, 1}, {2, 1}, 4000);
  });
  builder.add_group({second}, 1, [](double, std::size_t most, std::size_t) {
    return 500.0 * static_cast<double>(most - 1);
  });
  using enum parallel::StepPart;
  parallel::SimulatedStep step{*builder.finish(),
                               {{0, 0}, {0, 1, 1, 0}},
                               {},
                               {kForward, kBackward},
                               {0, 0},
                               {false, true},
                               3000};
  step.timeline = simulate(step.problem, step.placement, {});
  return step;
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

TEST(StepDrawing, HasLanesPartsWeightsAndMemory) {
  const std::string svg = step_svg(two_on_two());
  EXPECT_EQ(count(svg, "class=\"lane\""), 2U);
  EXPECT_EQ(count(svg, "class=\"part\""), 2U);
  EXPECT_EQ(count(svg, "class=\"part critical\""), 2U);
  EXPECT_EQ(count(svg, "class=\"weight\""), 2U);
  EXPECT_EQ(count(svg, "class=\"memory\""), 2U);
  EXPECT_EQ(count(svg, "<line class=\"critical\""), 2U);
  EXPECT_EQ(count(svg, "a&lt;b&gt;, forward: 1.000 ms from 0.000 ms"), 2U);
  EXPECT_EQ(count(svg, "0.60 of 1 GB"), 2U);
  // 3 ms of 3.503 are busy: 1 ms, 2 us and 1 us of transfer, 2 ms, 0.5 ms for the weight.
  EXPECT_EQ(count(svg, "3.503 ms: 3.003 ms until"), 1U);
  EXPECT_EQ(count(svg, "the plan: 3.000 ms"), 1U);
  EXPECT_EQ(count(svg, "14.4 % idle"), 3U);  // Both lanes, and on average.
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

TEST(StepDrawing, TheTraceIsReadable) {
  const auto trace = nlohmann::json::parse(chrome_trace(two_on_two()));
  int parts = 0, transfers = 0, critical = 0;
  double end_us = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    if (event["pid"] == 1) {
      ++parts;
      EXPECT_EQ(event["args"]["does"], event["name"] == "second" ? "backward" : "forward");
    }
    transfers += event["pid"] == 2 ? 1 : 0;
    critical += event.contains("args") && event["args"].value("critical", false) ? 1 : 0;
    end_us = std::max(end_us, event["ts"].get<double>() + event["dur"].get<double>());
  }
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(transfers, 2);
  EXPECT_EQ(critical, 2);
  EXPECT_NEAR(end_us, 3503, 1e-6);
}

}  // namespace
}  // namespace soapstone::cli
