// See timeline.h. Events are handled in the order of their times: a part or a weight is ready, a
// transfer is ready. It shares no code with simulator.cpp, so that each can check the other.
#include "parallel/simulation/timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "parallel/simulation/fair_share.h"

namespace soapstone::parallel {
namespace {

/// Transfers first: what arrives at once is ready together with what was.
enum class What : std::uint8_t { kTransfer, kPart, kSync };

struct Event {
  Ticks time;
  What what;
  std::uint32_t id;  ///< Slot, transfer or group.
  bool operator>(const Event& other) const {
    return std::tie(time, what, id) > std::tie(other.time, other.what, other.id);
  }
};

/// A part before it is run.
struct Waiting {
  std::uint32_t op = 0, inputs = 0;
  Ticks ready = 0;
  std::size_t after = kNoRun, through = kNoRun;
};

class Telling {
 public:
  Telling(const PlacementProblem& problem, const Placement& placement, const SimulationModel& model)
      : problem_(problem), placement_(placement), model_(model), waiting_(problem.slot_count),
        last_on_(problem.device_count, kNoRun), channel_free_(problem.channels.size()),
        network_free_(problem.device_count), fair_(problem.channels) {
    timeline_.busy.resize(problem.device_count);
    for (const WeightGroup& group : problem.groups) {
      std::uint32_t parts = 0;
      for (const std::uint32_t member : group.members) parts += parts_of(member);
      unfinished_.push_back(parts);
    }
  }

  Timeline run() {
    for (std::uint32_t op = 0; op < problem_.operators.size(); ++op) expect(op);
    for (;;) {
      const auto flow = fair_.next();
      if (flow && (events_.empty() || to_ticks(flow->us) < events_.top().time)) {
        fair_.finish(flow->id, flow->us);
        arrive(flow->id, to_ticks(flow->us + latency_us(timeline_.transfers[flow->id])));
        continue;
      }
      if (events_.empty()) break;
      const Event event = events_.top();
      events_.pop();
      if (event.what == What::kPart) run_part(event.id);
      if (event.what == What::kTransfer) send(event.id);
      if (event.what == What::kSync) synchronize(event.id, event.time);
    }
    if (model_.synchronization == Synchronization::kAfterLast)
      for (std::uint32_t group = 0; group < problem_.groups.size(); ++group)
        synchronize(group, timeline_.end);
    return std::move(timeline_);
  }

 private:
  std::uint32_t parts_of(std::size_t op) const {
    return problem_.configuration(op, placement_.choice[op]).parts;
  }

  /// Counts what each part waits for.
  void expect(std::uint32_t op) {
    const PlacedOperator& placed = problem_.operators[op];
    for (std::uint32_t part = 0; part < parts_of(op); ++part) {
      Waiting& waiting = waiting_[placed.first_slot + part];
      waiting.op = op;
      for (std::uint32_t k = 0; k < placed.inputs; ++k) {
        const PlacedEdge& edge = problem_.edges[problem_.input_edges[placed.first_input + k]];
        const OverlapTable& table =
            problem_.table(edge, placement_.choice[edge.from], placement_.choice[op]);
        const std::uint32_t* const starts = &problem_.overlap_starts[table.starts_to + part];
        waiting.inputs += starts[1] - starts[0];
      }
      if (waiting.inputs == 0) events_.push({0, What::kPart, placed.first_slot + part});
    }
  }

  void run_part(std::uint32_t slot) {
    const Waiting& waiting = waiting_[slot];
    const PlacedOperator& placed = problem_.operators[waiting.op];
    const std::uint8_t device = placement_.device[slot];
    const Configuration& chosen = problem_.configuration(waiting.op, placement_.choice[waiting.op]);
    PartRun run{waiting.op,    slot - placed.first_slot, device, waiting.ready, waiting.ready, 0,
                waiting.after, waiting.through};
    if (const std::size_t last = last_on_[device];
        last != kNoRun && timeline_.parts[last].end > run.start) {
      run.start = timeline_.parts[last].end;
      run.after = last;
      run.through = kNoRun;
    }
    const Ticks time = problem_.part_times[chosen.first_time + problem_.kind_of[device]];
    run.end = run.start + time;
    timeline_.busy[device] += time;
    timeline_.computed = std::max(timeline_.computed, run.end);
    timeline_.end = std::max(timeline_.end, run.end);
    last_on_[device] = timeline_.parts.size();
    timeline_.parts.push_back(run);
    hand_on(slot, timeline_.parts.size() - 1);
    if (placed.group != kNoGroup) end_of_member(placed.group, run.end);
  }

  void hand_on(std::uint32_t slot, std::size_t index) {
    const PartRun run = timeline_.parts[index];
    const PlacedOperator& placed = problem_.operators[run.op];
    for (std::uint32_t k = 0; k < placed.readers; ++k) {
      const std::uint32_t edge_id = problem_.reader_edges[placed.first_reader + k];
      const PlacedEdge& edge = problem_.edges[edge_id];
      const OverlapTable& table =
          problem_.table(edge, placement_.choice[run.op], placement_.choice[edge.to]);
      const std::uint32_t* const starts =
          &problem_.overlap_starts[table.starts_from + slot - placed.first_slot];
      for (std::uint32_t j = starts[0]; j < starts[1]; ++j) {
        const Overlap& overlap = problem_.overlaps[j];
        const std::uint32_t to = problem_.operators[edge.to].first_slot + overlap.part;
        const std::uint8_t device = placement_.device[to];
        if (device == run.device) {
          arrive_at(to, run.end, index, kNoRun);
          continue;
        }
        const double bytes = problem_.transfer_bytes[overlap.first_time / problem_.paths.size()];
        const auto id = static_cast<std::uint32_t>(timeline_.transfers.size());
        timeline_.transfers.push_back({edge_id, run.device, device, bytes, run.end, run.end, 0});
        ends_.push_back({to, index, overlap.first_time});
        events_.push({run.end, What::kTransfer, id});
      }
    }
  }

  std::span<const std::uint32_t> route(const TransferRun& transfer) const {
    const std::size_t pair = transfer.from_device * problem_.device_count + transfer.to_device;
    const std::uint32_t first = problem_.route_starts[pair];
    return std::span(problem_.route_channels)
        .subspan(first, problem_.route_starts[pair + 1] - first);
  }
  std::size_t path_of(const TransferRun& transfer) const {
    return problem_.path_class[transfer.from_device * problem_.device_count + transfer.to_device];
  }
  double latency_us(const TransferRun& transfer) const {
    return problem_.paths[path_of(transfer)].latency_us;
  }

  void send(std::uint32_t id) {
    TransferRun& transfer = timeline_.transfers[id];
    if (model_.links == Links::kFairShare) {
      fair_.start(id, transfer.bytes, route(transfer), to_us(transfer.ready));
      return;
    }
    const Ticks whole = problem_.transfer_times[ends_[id].first_time + path_of(transfer)];
    if (model_.links == Links::kInTurn) {
      for (const std::uint32_t channel : route(transfer))
        transfer.start = std::max(transfer.start, channel_free_[channel]);
      const Ticks held = whole - to_ticks(latency_us(transfer));
      for (const std::uint32_t channel : route(transfer))
        channel_free_[channel] = transfer.start + held;
    }
    arrive(id, transfer.start + whole);
  }

  void arrive(std::uint32_t id, Ticks time) {
    timeline_.transfers[id].end = time;
    arrive_at(ends_[id].to, time, ends_[id].from, id);
  }

  void arrive_at(std::uint32_t slot, Ticks time, std::size_t from, std::size_t through) {
    Waiting& waiting = waiting_[slot];
    if (waiting.after == kNoRun || time > waiting.ready) {
      waiting.ready = time;
      waiting.after = from;
      waiting.through = through;
    }
    if (--waiting.inputs == 0) events_.push({waiting.ready, What::kPart, slot});
  }

  void end_of_member(std::uint32_t group, Ticks end) {
    group_end_.resize(problem_.groups.size());
    group_end_[group] = std::max(group_end_[group], end);
    if (--unfinished_[group] == 0 && model_.synchronization == Synchronization::kOverlapped)
      events_.push({group_end_[group], What::kSync, group});
  }

  /// The devices that hold a piece of a weight, if it is in so many.
  std::set<std::uint8_t> holders(const WeightGroup& group, std::uint32_t piece,
                                 std::uint32_t pieces) const {
    std::set<std::uint8_t> devices;
    for (const std::uint32_t member : group.members) {
      const Configuration& chosen = problem_.configuration(member, placement_.choice[member]);
      for (std::uint32_t part = 0; part < chosen.parts; ++part)
        if (problem_.piece_of_part[chosen.first_piece + part] == piece * chosen.pieces / pieces)
          devices.insert(placement_.device[problem_.operators[member].first_slot + part]);
    }
    return devices;
  }

  void synchronize(std::uint32_t id, Ticks ready) {
    const WeightGroup& group = problem_.groups[id];
    std::uint32_t pieces = 1;
    for (const std::uint32_t member : group.members)
      pieces = std::max(pieces, problem_.configuration(member, placement_.choice[member]).pieces);
    const auto table = std::ranges::find(group.tables, pieces, &SyncTable::pieces);
    std::set<std::uint8_t> all;
    Ticks time = 0;
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      const std::set<std::uint8_t> devices = holders(group, piece, pieces);
      all.insert(devices.begin(), devices.end());
      std::map<std::uint8_t, std::size_t> in_node;
      std::size_t most = 0;
      for (const std::uint8_t device : devices)
        most = std::max(most, ++in_node[problem_.node_of[device]]);
      time += problem_.sync_times[table->first_time + (most - 1) * problem_.node_count +
                                  in_node.size() - 1];
    }
    SyncRun run{id, {all.begin(), all.end()}, ready, ready};
    for (const std::uint8_t device : run.devices)
      run.start = std::max(run.start, network_free_[device]);
    run.end = run.start + time;
    if (time > 0)
      for (const std::uint8_t device : run.devices) network_free_[device] = run.end;
    timeline_.end = std::max(timeline_.end, run.end);
    timeline_.syncs.push_back(run);
  }

  struct Ends {
    std::uint32_t to;  ///< Slot.
    std::size_t from;  ///< Run.
    std::uint32_t first_time;
  };

  const PlacementProblem& problem_;
  const Placement& placement_;
  const SimulationModel model_;
  Timeline timeline_;
  std::vector<Waiting> waiting_;
  std::vector<std::size_t> last_on_;
  std::vector<Ticks> channel_free_, network_free_, group_end_;
  std::vector<std::uint32_t> unfinished_;
  std::vector<Ends> ends_;  ///< Of each transfer.
  FairShare fair_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Timeline simulate(const PlacementProblem& problem, const Placement& placement,
                  const SimulationModel& model) {
  return Telling(problem, placement, model).run();
}

std::vector<std::size_t> Timeline::critical_path() const {
  std::vector<std::size_t> path;
  if (parts.empty()) return path;
  const auto last = std::ranges::max_element(parts, {}, &PartRun::end);
  for (auto k = static_cast<std::size_t>(last - parts.begin()); k != kNoRun; k = parts[k].after)
    path.push_back(k);
  std::reverse(path.begin(), path.end());
  return path;
}

double Timeline::idle_share(std::size_t device) const {
  if (end == 0) return 0;
  return 1 - static_cast<double>(busy[device]) / static_cast<double>(end);
}

}  // namespace soapstone::parallel
