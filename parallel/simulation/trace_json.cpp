// See trace_json.h. Transfers of a device may overlap, so each has the lowest lane that is free.
#include "parallel/simulation/trace_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace soapstone::parallel {
namespace {

using TraceJson = nlohmann::ordered_json;

enum Process : int { kDevices = 1, kTransfers = 2, kWeights = 3, kRanks = 4 };

TraceJson event(std::string name, Process process, std::size_t lane, Ticks start, Ticks end) {
  return {{"name", std::move(name)},
          {"ph", "X"},
          {"pid", static_cast<int>(process)},
          {"tid", lane},
          {"ts", to_us(start)},
          {"dur", to_us(end - start)}};
}

TraceJson label(const char* what, Process process, std::size_t lane, std::string name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", static_cast<int>(process)},
          {"tid", lane},
          {"args", {{"name", std::move(name)}}}};
}

void add_parts(const SimulatedStep& step, TraceJson& events) {
  const Timeline& timeline = step.timeline;
  std::vector<bool> is_critical(timeline.parts.size());
  for (const std::size_t k : timeline.critical_path()) is_critical[k] = true;
  for (std::size_t k = 0; k < timeline.parts.size(); ++k) {
    const PartRun& run = timeline.parts[k];
    TraceJson added =
        event(step.problem.operators[run.op].name, kDevices, run.device, run.start, run.end);
    added["cat"] = to_string(step.parts[run.op]);
    added["args"] = {{"does", to_string(step.parts[run.op])},
                     {"microbatch", step.microbatch_of[run.op]},
                     {"waited_us", to_us(run.start - run.ready)},
                     {"critical", static_cast<bool>(is_critical[k])}};
    events.push_back(std::move(added));
  }
}

void add_transfers(const PlacementProblem& problem, const Timeline& timeline, TraceJson& events) {
  std::vector<std::vector<Ticks>> free_from(problem.device_count);  // Of each lane of a device.
  std::vector<const TransferRun*> by_start;
  for (const TransferRun& transfer : timeline.transfers)
    if (transfer.bytes > 0) by_start.push_back(&transfer);  // Others say what waits for what.
  std::ranges::stable_sort(by_start, {}, [](const TransferRun* run) { return run->start; });
  constexpr std::size_t kMostLanes = 1000;
  for (const TransferRun* const transfer : by_start) {
    std::vector<Ticks>& lanes = free_from[transfer->from_device];
    std::size_t lane = 0;
    while (lane < lanes.size() && lanes[lane] > transfer->start) ++lane;
    lanes.resize(std::max(lanes.size(), lane + 1));
    lanes[lane] = transfer->end;
    const PlacedEdge& edge = problem.edges[transfer->edge];
    TraceJson added = event(
        problem.operators[edge.from].name + " → " + problem.operators[edge.to].name, kTransfers,
        transfer->from_device * kMostLanes + lane, transfer->start, transfer->end);
    added["args"] = {{"to", problem.device_names[transfer->to_device]},
                     {"bytes", transfer->bytes},
                     {"waited_us", to_us(transfer->start - transfer->ready)}};
    events.push_back(std::move(added));
  }
  for (std::size_t device = 0; device < problem.device_count; ++device)
    for (std::size_t lane = 0; lane < free_from[device].size(); ++lane)
      events.push_back(label("thread_name", kTransfers, device * kMostLanes + lane,
                             fmt::format("from {}", problem.device_names[device])));
}

void add_measured(const std::vector<MeasuredLane>& lanes, TraceJson& events) {
  if (!lanes.empty()) events.push_back(label("process_name", kRanks, 0, "ranks, as measured"));
  for (std::size_t r = 0; r < lanes.size(); ++r) {
    events.push_back(
        label("thread_name", kRanks, r,
              fmt::format("{} ({:.1f} % idle)", lanes[r].name, 100 * lanes[r].idle_share)));
    for (const MeasuredPart& part : lanes[r].parts) {
      const char* const does = part.is_exchange ? "exchange" : "compute";
      events.push_back(
          {{"name", part.name},
           {"ph", "X"},
           {"pid", static_cast<int>(kRanks)},
           {"tid", r},
           {"ts", part.start_us},
           {"dur", part.end_us - part.start_us},
           {"cat", does},
           {"args", {{"does", does}, {"waited_us", part.waited_us}, {"bytes", part.bytes}}}});
    }
  }
}

}  // namespace

std::string chrome_trace(const SimulatedStep& step, const std::vector<MeasuredLane>& measured) {
  const PlacementProblem& problem = step.problem;
  const Timeline& timeline = step.timeline;
  TraceJson events = TraceJson::array();
  events.push_back(label("process_name", kDevices, 0, "devices"));
  events.push_back(label("process_name", kTransfers, 0, "transfers"));
  events.push_back(label("process_name", kWeights, 0, "weights"));
  for (std::size_t device = 0; device < problem.device_count; ++device)
    events.push_back(label("thread_name", kDevices, device,
                           fmt::format("{} ({:.1f} % idle)", problem.device_names[device],
                                       100 * timeline.idle_share(device))));
  add_parts(step, events);
  add_transfers(problem, timeline, events);
  for (const SyncRun& sync : timeline.syncs) {
    if (sync.end == sync.start) continue;
    const std::uint32_t first = problem.groups[sync.group].members.front();
    events.push_back(event(problem.operators[first].name + ": weight", kWeights, sync.group,
                           sync.start, sync.end));
  }
  add_measured(measured, events);
  const TraceJson document = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return document.dump(-1, ' ', false, TraceJson::error_handler_t::replace) + "\n";
}

}  // namespace soapstone::parallel
