// See plan_report.h.
#include "cli/plan/plan_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/plan/plan_blocks.h"
#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"
#include "cli/terminal/units.h"

namespace soapstone::cli {
namespace {

std::string shape_text(const parallel::MeshShape& shape) {
  std::string text;
  const auto add = [&](std::int64_t size, const char* what) {
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", size, what);
  };
  add(shape.model, "model");
  add(shape.any, "any");
  add(shape.batch, "batch");
  add(shape.stages, "stages");
  if (text.empty()) text = "1 device";
  if (shape.is_uneven) text += ", uneven";
  if (shape.microbatches > 1) text += fmt::format(", {} microbatches", shape.microbatches);
  if (shape.chunks > 1) text += fmt::format(", {} pieces a stage", shape.chunks);
  if (shape.loss_chunks > 1) text += fmt::format(", loss in {} chunks", shape.loss_chunks);
  if (shape.recompute != parallel::Recompute::kNothing)
    text += fmt::format(", recomputes {}", to_string(shape.recompute));
  if (shape.gathers_once) text += ", keeps gathered weights";
  return text;
}

std::string rivals_table(const jobs::PlanOutcome& outcome) {
  Table table({{"strategy"}, {"step", Align::kRight}, {"memory", Align::kRight}, {"mesh"}});
  const auto add = [&](const parallel::PlanDocument& plan, bool fits) {
    const bool is_mixed = outcome.plan.rehearsed && !plan.rehearsed;
    table.add_row({plan.strategy, time_text(plan.foretold_us()) + (is_mixed ? " (simulated)" : ""),
                   bytes_text(plan.foretold_bytes()) + (fits ? "" : " (too much)"),
                   shape_text(plan.shape)});
  };
  add(outcome.plan, outcome.fits);
  for (const auto& rival : outcome.rivals) add(rival.plan, rival.fits);
  std::string text = table.to_string();
  for (const auto& [name, reason] : outcome.refused) text += fmt::format("{}: {}\n", name, reason);
  return text;
}

double proposals_per_cpu_s(const jobs::PlanOutcome& outcome) {
  if (outcome.search_cpu_s <= 0) return 0;  // Faster than the clock.
  return static_cast<double>(outcome.meshes_tried) / outcome.search_cpu_s;
}

/// Both are of one model of a step; a picture of blocks rounds it.
std::string told_line(double plan_us, std::optional<double> told_us) {
  if (!told_us) return {};
  return fmt::format("  part by part {} ({:+.1f} %, in the pictures)\n", time_text(*told_us),
                     plan_us > 0 ? 100 * (*told_us / plan_us - 1) : 0.0);
}

std::string rehearsed_line(const parallel::PlanDocument& plan) {
  if (!plan.rehearsed) return {};
  return fmt::format("  rehearsed    {}, {} on the fullest rank: the programs of ranks computed "
                     "here, and the links say how long exchanges take\n",
                     time_text(plan.rehearsed->step_us), bytes_text(plan.rehearsed->peak_bytes));
}

std::string annotations_line(const jobs::AnnotationReport& annotations) {
  std::vector<std::string> unsaid;
  for (const auto& [what, times] : annotations.unsaid) {
    unsaid.push_back(fmt::format("{} ({})", what, times));
    std::ranges::replace(unsaid.back(), '_', ' ');
  }
  return fmt::format("  ONNX annotations of {} of {}{}{}\n", counted(annotations.tensors, "tensor"),
                     counted(annotations.nodes, "node"),
                     unsaid.empty() ? "" : "; without words for: ", fmt::join(unsaid, ", "));
}

std::string check_lines(const jobs::PlanCheck& check) {
  if (!check.why_not.empty()) return fmt::format("  programs     not checked: {}\n", check.why_not);
  std::string text = fmt::format(
      "  programs     {} of {}{}{}: every message and sum has its partners; {}\n",
      counted(check.steps, "step"), counted(static_cast<std::uint64_t>(check.ranks), "rank"),
      check.left_out == 0
          ? ""
          : fmt::format(", equal layers once ({} left out)", counted(check.left_out, "operator")),
      check.is_smaller ? ", two on each axis for all that are there" : "",
      !check.is_computed ? "not computed: " + check.why_not_computed
      : check.small_sizes.empty()
          ? "in the prime field they compute the model"
          : "in the prime field they compute the model with " + check.small_sizes);
  if (!check.uncut.empty())
    text += fmt::format(
        "  not cut      {}{}: parts would exchange something in between\n", check.uncut.front(),
        check.uncut.size() == 1 ? "" : fmt::format(" and {} more", check.uncut.size() - 1));
  return text;
}

std::string bound_line(const jobs::PlanOutcome& outcome) {
  const parallel::StepBound& bound = outcome.lower_bound;
  return fmt::format(
      "  lower bound  {}, {:.1f} % below (starting kernels {}, arithmetic {}, passes "
      "over memory {}, exchanges {})\n",
      time_text(bound.us), 100 * (1 - bound.us / outcome.plan.time.total_us),
      time_text(bound.launches_us), time_text(bound.arithmetic_us), time_text(bound.traffic_us),
      time_text(bound.exchanges_us));
}

std::string memory_line(const parallel::StepMemory& memory, double limit_bytes) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, double bytes) {
    if (bytes > 0) parts.push_back(fmt::format("{} {}", what, bytes_text(bytes)));
  };
  add("weights", memory.weight_bytes);
  add("gradients", memory.gradient_bytes);
  add("states of the optimizer", memory.state_bytes);
  add("kept for gradients", memory.kept_bytes);
  add("working", memory.working_bytes);
  add("buffers", memory.buffer_bytes);
  return fmt::format("  memory       {} of {} on the fullest device ({})\n",
                     bytes_text(memory.total_bytes()), bytes_text(limit_bytes),
                     fmt::join(parts, ", "));
}

}  // namespace

std::string plan_text(const jobs::PlanOutcome& outcome, const PlanReportExtras& extras) {
  const parallel::PlanDocument& plan = outcome.plan;
  const parallel::StepTime& time = plan.time;
  std::string text = fmt::format("{} of {}, strategy {}: {}\n", counted(plan.devices, "device"),
                                 plan.topology, plan.strategy, shape_text(plan.shape));
  text += rehearsed_line(plan);
  text +=
      fmt::format("  step         {} (simulated; {})\n", time_text(time.total_us),
                  plan.estimated_share < 1 ? fmt::format("{:.0f} % of what devices do is estimated",
                                                         100 * plan.estimated_share)
                                           : "kernels are estimated");
  text += told_line(time.total_us, extras.told_us);
  text += bound_line(outcome);
  if (outcome.data_parallel_us > 0) {
    text += fmt::format("  data parallel {}: {:.2f}x\n", time_text(outcome.data_parallel_us),
                        outcome.data_parallel_us / plan.foretold_us());
  }
  text += fmt::format("  computing {}, exchanging {}, waiting for stages {}, handing over {}, "
                      "summing gradients {}, updating {}\n",
                      time_text(time.compute_us), time_text(time.exchange_us),
                      time_text(time.bubble_us), time_text(time.handover_us),
                      time_text(time.gradient_sum_us), time_text(time.update_us));
  text += memory_line(time.memory, outcome.memory_bytes);
  text += fmt::format("  moved        {} in all\n", bytes_text(time.bytes_moved));
  if (!outcome.opaque.empty())
    text += fmt::format("  not known    {}, which run whole on every device: {}{}\n",
                        counted(outcome.opaque.size(), "operator"), outcome.opaque.front(),
                        outcome.opaque.size() > 1 ? ", ..." : "");
  if (extras.annotations) text += annotations_line(*extras.annotations);
  if (extras.check) text += check_lines(*extras.check);
  if (!outcome.rivals.empty() || !outcome.refused.empty()) text += "\n" + rivals_table(outcome);
  return text;
}

std::string plan_document_text(const parallel::PlanDocument& plan, std::optional<double> told_us) {
  std::string text = fmt::format(
      "{} of {}, strategy {}: {}\n{}  step         {} (simulated)\n{}\n",
      counted(plan.devices, "device"), plan.topology, plan.strategy, shape_text(plan.shape),
      rehearsed_line(plan), time_text(plan.time.total_us), told_line(plan.time.total_us, told_us));
  return text + plan_blocks_text(plan);
}

std::string plan_report_json(const jobs::PlanOutcome& outcome, const PlanReportExtras& extras) {
  const parallel::PlanDocument& plan = outcome.plan;
  nlohmann::ordered_json json{
      {"devices", plan.devices},
      {"topology", plan.topology},
      {"strategy", plan.strategy},
      {"simulated_us", plan.foretold_us()},
      {"was_rehearsed", plan.rehearsed.has_value()},
      {"planned_us", plan.time.total_us},
      {"lower_bound_us", plan.lower_bound_us},
      {"lower_bound_binds", outcome.lower_bound.binding()},
      {"speedup_over_data_parallel", nullptr},  // It does not fit, or was not planned.
      {"bytes_moved", plan.time.bytes_moved},
      {"peak_memory_mb", plan.foretold_bytes() / 1e6},
      {"memory_mb",
       {{"weights", plan.time.memory.weight_bytes / 1e6},
        {"gradients", plan.time.memory.gradient_bytes / 1e6},
        {"states", plan.time.memory.state_bytes / 1e6},
        {"kept", plan.time.memory.kept_bytes / 1e6},
        {"working", plan.time.memory.working_bytes / 1e6},
        {"buffers", plan.time.memory.buffer_bytes / 1e6}}},
      {"fits", outcome.fits},
      {"proposals", outcome.meshes_tried},
      {"proposals_per_cpu_s", proposals_per_cpu_s(outcome)},
      {"estimated_share", plan.estimated_share},
      {"unknown_operators", outcome.opaque}};
  if (outcome.data_parallel_us > 0)
    json["speedup_over_data_parallel"] = outcome.data_parallel_us / plan.foretold_us();
  if (extras.told_us) json["part_by_part_us"] = *extras.told_us;
  if (extras.check)
    json["check"] = {{"why_not", extras.check->why_not},
                     {"ranks", extras.check->ranks},
                     {"is_smaller", extras.check->is_smaller},
                     {"operators_left_out", extras.check->left_out},
                     {"graphs_and_exchanges", extras.check->steps},
                     {"computed", extras.check->is_computed},
                     {"computed_at", extras.check->small_sizes},
                     {"why_not_computed", extras.check->why_not_computed},
                     {"not_cut", extras.check->uncut}};
  if (extras.annotations)
    json["onnx"] = {{"nodes", extras.annotations->nodes},
                    {"tensors", extras.annotations->tensors},
                    {"unsaid", extras.annotations->unsaid}};
  for (const auto& rival : outcome.rivals)
    json["strategies"].push_back({{"name", rival.name},
                                  {"simulated_us", rival.plan.foretold_us()},
                                  {"was_rehearsed", rival.plan.rehearsed.has_value()},
                                  {"peak_memory_mb", rival.plan.foretold_bytes() / 1e6},
                                  {"fits", rival.fits}});
  for (const auto& [name, reason] : outcome.refused)
    json["refused"].push_back({{"name", name}, {"reason", reason}});
  return json_text(json);
}

}  // namespace soapstone::cli
