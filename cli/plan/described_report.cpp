// See described_report.h.
#include "cli/plan/described_report.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

using parallel::DescribedMemory;
using parallel::DescribedOutcome;
using parallel::DescribedStage;
using parallel::DescribedStageOutcome;
using parallel::StepPart;

std::string seconds_text(double seconds) { return time_text(seconds * 1e6); }

/// `4 x 8 A100, 8 V100`: the GPUs of replicas, and how many replicas in a row have such.
std::string devices_text(const DescribedStage& stage) {
  std::vector<std::string> texts;
  for (auto at = stage.devices.begin(); at != stage.devices.end();) {
    const auto end = std::find_if(at, stage.devices.end(), [&](const auto& d) { return d != *at; });
    texts.push_back(fmt::format("{} {}", stage.tensor_parallel, *at));
    if (end - at > 1) texts.back() = fmt::format("{} x {}", end - at, texts.back());
    at = end;
  }
  return fmt::to_string(fmt::join(texts, ", "));
}

std::string layers_text(const DescribedStage& stage) {
  if (stage.layers.size() == 1) return fmt::to_string(stage.layers.front());
  return fmt::format("{}-{}", stage.layers.front(), stage.layers.back());
}

std::string fit_text(const DescribedStageOutcome& stage) {
  if (stage.fits()) return "fits " + bytes_text(stage.device_bytes);
  return fmt::format("does not fit: {} has {}", stage.smallest_device,
                     bytes_text(stage.device_bytes));
}

std::size_t fullest_stage(const DescribedOutcome& outcome) {
  const auto fullest = std::ranges::max_element(
      outcome.stages, {}, [](const auto& stage) { return stage.memory.total_bytes(); });
  return static_cast<std::size_t>(fullest - outcome.stages.begin());
}

/// Names and values of what adds up to a memory.
std::vector<std::pair<const char*, double>> parts_of(const DescribedMemory& memory) {
  return {{"parameters", memory.parameter_bytes}, {"gradients", memory.gradient_bytes},
          {"states", memory.state_bytes},         {"saved", memory.saved_bytes},
          {"working", memory.working_bytes},      {"bucket", memory.bucket_bytes},
          {"fragments", memory.fragment_bytes},   {"framework", memory.framework_bytes}};
}

std::string stages_table(const DescribedOutcome& outcome) {
  Table table({{"stage", Align::kRight},
               {"layers"},
               {"GPUs"},
               {"computes", Align::kRight},
               {"hands over", Align::kRight},
               {"sums", Align::kRight},
               {"updates", Align::kRight},
               {"waits", Align::kRight},
               {"memory", Align::kRight},
               {""}});
  for (std::size_t s = 0; s < outcome.stages.size(); ++s) {
    const DescribedStageOutcome& stage = outcome.stages[s];
    const DescribedStage& described = outcome.plan.stages[s];
    table.add_row({fmt::to_string(s), layers_text(described), devices_text(described),
                   seconds_text(stage.compute_s), seconds_text(stage.handover_s),
                   seconds_text(stage.sum_s), seconds_text(stage.update_s),
                   seconds_text(stage.waiting_s), bytes_text(stage.memory.total_bytes()),
                   fit_text(stage)});
  }
  return table.to_string();
}

char letter_of(StepPart part) {
  switch (part) {
  case StepPart::kForward:
    return 'F';
  case StepPart::kBackward:
    return 'B';
  case StepPart::kExchange:
    return '-';
  case StepPart::kUpdate:
    return 'U';
  default:
    return '?';
  }
}

/// A row for each lane; a column has the letter of what takes most of its time.
std::string timeline_text(const parallel::SimulatedStep& step) {
  constexpr std::size_t kColumns = 72;
  constexpr std::array kParts = {StepPart::kForward, StepPart::kBackward, StepPart::kExchange,
                                 StepPart::kUpdate};
  const double width =
      std::max(1.0, static_cast<double>(step.timeline.end)) / static_cast<double>(kColumns);
  using Shares = std::array<double, kParts.size()>;
  std::vector<std::vector<Shares>> lanes(step.problem.device_count,
                                         std::vector<Shares>(kColumns, Shares{}));
  for (const parallel::PartRun& run : step.timeline.parts) {
    const auto part =
        static_cast<std::size_t>(std::ranges::find(kParts, step.parts[run.op]) - kParts.begin());
    const double start = static_cast<double>(run.start) / width;
    const double end = static_cast<double>(run.end) / width;
    for (auto c = static_cast<std::size_t>(start); c < kColumns && static_cast<double>(c) < end;
         ++c)
      lanes[run.device][c][part] +=
          std::min(end, static_cast<double>(c + 1)) - std::max(start, static_cast<double>(c));
  }
  std::string text;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    text += "  ";
    for (const Shares& shares : lanes[lane]) {
      const auto most = std::ranges::max_element(shares);
      double busy = 0;
      for (const double share : shares) busy += share;
      text += busy < 0.5 ? '.' : letter_of(kParts[static_cast<std::size_t>(most - shares.begin())]);
    }
    text += "  " + step.problem.device_names[lane] + "\n";
  }
  return text + "  F forward, B backward, - handovers and sums, U update, . waiting\n";
}

std::int64_t gpu_count(const parallel::DescribedPlan& plan) {
  std::int64_t gpus = 0;
  for (const DescribedStage& stage : plan.stages)
    gpus += stage.tensor_parallel * static_cast<std::int64_t>(stage.devices.size());
  return gpus;
}

std::string one_text(const DescribedOutcome& outcome) {
  const parallel::DescribedPlan& plan = outcome.plan;
  const DescribedStageOutcome& last = outcome.stages[outcome.last_stage];
  const std::size_t fullest = fullest_stage(outcome);
  std::vector<std::string> parts;
  for (const auto& [name, bytes] : parts_of(outcome.stages[fullest].memory))
    parts.push_back(fmt::format("{} {}", name, bytes_text(bytes)));
  std::string text =
      fmt::format("{}: {} on {}, {} x {}, {} {} of {}\n", plan.id, plan.model,
                  counted(static_cast<std::uint64_t>(gpu_count(plan)), "GPU"),
                  counted(plan.stages.size(), "stage"), counted(plan.replicas(), "replica"),
                  grouped(static_cast<std::uint64_t>(plan.microbatches)),
                  plan.microbatches == 1 ? "microbatch" : "microbatches", plan.microbatch);
  text += fmt::format("  step    {} (stage {}: computing {}, handing over {}, waiting {}, summing "
                      "gradients {}, updating {})\n",
                      seconds_text(outcome.iteration_s), outcome.last_stage,
                      seconds_text(last.compute_s), seconds_text(last.handover_s),
                      seconds_text(last.waiting_s), seconds_text(last.sum_s),
                      seconds_text(last.update_s));
  text += fmt::format("  memory  {} on the fullest GPU, of stage {} ({})\n\n",
                      bytes_text(outcome.peak_bytes()), fullest, fmt::join(parts, ", "));
  text += stages_table(outcome) + "\n" + timeline_text(outcome.step);
  if (outcome.told_microbatches < plan.microbatches)
    text += fmt::format("  The timeline has the first {} microbatches; the others follow at the "
                        "pace of its last ones.\n",
                        outcome.told_microbatches);
  return text;
}

nlohmann::ordered_json memory_json(const DescribedMemory& memory) {
  nlohmann::ordered_json json;
  for (const auto& [name, bytes] : parts_of(memory)) json[name] = bytes / 1e6;
  return json;
}

nlohmann::ordered_json stage_json(const DescribedStage& described,
                                  const DescribedStageOutcome& stage) {
  return {{"layers", described.layers},
          {"devices", described.devices},
          {"tensor_parallel", described.tensor_parallel},
          {"slowest_replica", stage.slowest_replica},
          {"compute_s", stage.compute_s},
          {"handover_s", stage.handover_s},
          {"gradient_sum_s", stage.sum_s},
          {"update_s", stage.update_s},
          {"waiting_s", stage.waiting_s},
          {"memory_mb", stage.memory.total_bytes() / 1e6},
          {"memory_parts_mb", memory_json(stage.memory)},
          {"smallest_device", stage.smallest_device},
          {"device_memory_mb", stage.device_bytes / 1e6},
          {"fits", stage.fits()}};
}

}  // namespace

std::string described_text(std::span<const DescribedOutcome> outcomes) {
  if (outcomes.size() == 1) return one_text(outcomes.front());
  Table table({{"plan"},
               {"step", Align::kRight},
               {"computing", Align::kRight},
               {"handing over", Align::kRight},
               {"waiting", Align::kRight},
               {"summing", Align::kRight},
               {"updating", Align::kRight},
               {"memory", Align::kRight},
               {""}});
  for (const DescribedOutcome& outcome : outcomes) {
    const DescribedStageOutcome& last = outcome.stages[outcome.last_stage];
    const auto tight = std::ranges::find_if_not(outcome.stages, &DescribedStageOutcome::fits);
    table.add_row(
        {outcome.plan.id, seconds_text(outcome.iteration_s), seconds_text(last.compute_s),
         seconds_text(last.handover_s), seconds_text(last.waiting_s), seconds_text(last.sum_s),
         seconds_text(last.update_s), bytes_text(outcome.peak_bytes()),
         outcome.fits() ? "fits"
                        : fmt::format("does not fit on stage {}", tight - outcome.stages.begin())});
  }
  return table.to_string();
}

std::string described_json(std::span<const DescribedOutcome> outcomes) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const DescribedOutcome& outcome : outcomes) {
    const DescribedStageOutcome& last = outcome.stages[outcome.last_stage];
    nlohmann::ordered_json& entry = json[outcome.plan.id];
    entry = {{"iteration_s", outcome.iteration_s},
             {"peak_memory_mb", outcome.peak_bytes() / 1e6},
             {"fits", outcome.fits()},
             {"model", outcome.plan.model},
             {"gpus", gpu_count(outcome.plan)},
             {"microbatches", outcome.plan.microbatches},
             {"simulated_microbatches", outcome.told_microbatches},
             {"last_stage", outcome.last_stage},
             {"compute_s", last.compute_s},
             {"handover_s", last.handover_s},
             {"waiting_s", last.waiting_s},
             {"gradient_sum_s", last.sum_s},
             {"update_s", last.update_s}};
    for (std::size_t s = 0; s < outcome.stages.size(); ++s)
      entry["stages"].push_back(stage_json(outcome.plan.stages[s], outcome.stages[s]));
  }
  return json_text(json);
}

}  // namespace soapstone::cli
