// See schedule_model.h.
#include "runtime/memory/schedule_model.h"

#include <algorithm>

#include "runtime/memory/placement.h"

namespace soapstone::runtime {
namespace {

using core::Graph;
using core::TensorId;
using Unit = ScheduleModel::Unit;

template <class T>
void sort_unique(std::vector<T>& values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

class Modeling {
 public:
  Modeling(const Graph& graph, const ExecutionPlan& plan,
           std::span<const std::optional<std::size_t>> in_place)
      : graph_(graph), plan_(plan), in_place_(in_place),
        placement_(graph, plan, std::vector<std::optional<std::size_t>>(plan.launches.size()),
                   Placement::Detail::kLifetimes),
        makers_(2 * graph.tensor_bound(), kNone) {}

  ScheduleModel run() {
    for (const MemoryPlan::Slot& slot : placement_.memory().slots)
      model_.slots.push_back({slot_bytes(slot.bytes), false, {}});
    for (const RewriteStep& step : plan_.steps) add_step(step);
    for (TensorId output : graph_.outputs()) {
      const auto slot = slot_of(output, Layout::kRowMajor);
      if (slot) model_.slots[*slot].kept = true;
    }
    for (std::uint32_t u = 0; u < model_.units.size(); ++u) {
      Unit& unit = model_.units[u];
      sort_unique(unit.before);
      for (const std::uint32_t other : unit.before) model_.units[other].after.push_back(u);
      sort_unique(unit.slots);
      sort_unique(unit.writes);
      for (const std::uint32_t slot : unit.slots) model_.slots[slot].users.push_back(u);
    }
    return std::move(model_);
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The unit that makes the tensor as it lies in `layout`; none for inputs and constants.
  std::uint32_t& maker(TensorId tensor, Layout layout) {
    return makers_[tensor.index() * 2 + static_cast<std::size_t>(layout)];
  }

  std::optional<std::uint32_t> slot_of(TensorId tensor, Layout layout) const {
    const auto slot = placement_.slot_of(tensor, layout);
    return slot ? std::optional(static_cast<std::uint32_t>(*slot)) : std::nullopt;
  }

  void read(Unit& unit, TensorId tensor, Layout layout) {
    if (maker(tensor, layout) == kNone) return;
    unit.before.push_back(maker(tensor, layout));
    if (const auto slot = slot_of(tensor, layout)) unit.slots.push_back(*slot);
  }

  void write(Unit& unit, TensorId tensor, Layout layout) {
    maker(tensor, layout) = static_cast<std::uint32_t>(model_.units.size());
    if (const auto slot = slot_of(tensor, layout)) {
      unit.slots.push_back(*slot);
      unit.writes.push_back(*slot);
    }
  }

  void add_step(const RewriteStep& step) {
    switch (step.kind) {
    case RewriteStep::Kind::kView:
      return add_view(plan_.views[step.number]);
    case RewriteStep::Kind::kConversion: {
      const Conversion& conversion = plan_.conversions[step.number];
      Unit unit;
      read(unit, conversion.tensor, conversion.from);
      write(unit, conversion.tensor, conversion.to);
      model_.units.push_back(std::move(unit));
      return;
    }
    case RewriteStep::Kind::kLaunch:
      return add_launch(step.number);
    }
  }

  void add_view(const View& view) {
    const core::Node& node = graph_.node(view.node);
    if (node.op->movement == core::Movement::kJoin) {
      // A unit of its own: readers of the whole wait for all parts.
      Unit unit;
      for (TensorId part : node.inputs) read(unit, part, Layout::kRowMajor);
      write(unit, node.outputs[0], Layout::kRowMajor);
      unit.writes.clear();
      model_.units.push_back(std::move(unit));
      return;
    }
    for (TensorId output : node.outputs)
      maker(output, canonical(graph_.tensor(output).type, view.layout)) =
          maker(node.inputs[0], view.layout);
  }

  void add_launch(std::uint32_t number) {
    const Launch& launch = plan_.launches[number];
    const LaunchLayouts& layouts = plan_.layouts[number];
    Unit unit;
    for (std::size_t i = 0; i < launch.inputs.size(); ++i)
      read(unit, launch.inputs[i], layouts.inputs[i]);
    for (std::size_t i = 0; i < launch.outputs.size(); ++i)
      write(unit, launch.outputs[i], layouts.outputs[i]);
    if (in_place_[number] && unit.writes.size() == 1) {
      const std::size_t input = *in_place_[number];
      const auto slot = slot_of(launch.inputs[input], layouts.inputs[input]);
      const auto& slots = model_.slots;
      if (slot && *slot != unit.writes[0] && slots[*slot].bytes == slots[unit.writes[0]].bytes)
        unit.overwrites = slot;
    }
    model_.units.push_back(std::move(unit));
  }

  const Graph& graph_;
  const ExecutionPlan& plan_;
  std::span<const std::optional<std::size_t>> in_place_;
  Placement placement_;
  std::vector<std::uint32_t> makers_;  // by tensor and layout
  ScheduleModel model_;
};

}  // namespace

ScheduleModel make_schedule_model(const Graph& graph, const ExecutionPlan& plan,
                                  std::span<const std::optional<std::size_t>> in_place) {
  return Modeling(graph, plan, in_place).run();
}

LiveBytes::LiveBytes(const ScheduleModel& model) : model_(model) {
  left_.reserve(model.slots.size());
  for (const ScheduleModel::Slot& slot : model.slots)
    left_.push_back(static_cast<std::uint32_t>(slot.users.size()));
}

LiveBytes::Change LiveBytes::change(std::uint32_t number) const {
  const Unit& unit = model_.units[number];
  std::size_t made = 0, freed = 0;
  for (const std::uint32_t slot : unit.writes)
    if (left_[slot] == model_.slots[slot].users.size()) made += model_.slots[slot].bytes;
  for (const std::uint32_t slot : unit.slots)
    if (left_[slot] == 1 && !model_.slots[slot].kept) freed += model_.slots[slot].bytes;
  const auto after = static_cast<std::ptrdiff_t>(made) - static_cast<std::ptrdiff_t>(freed);
  if (unit.overwrites && left_[*unit.overwrites] == 1 && !model_.slots[*unit.overwrites].kept &&
      left_[unit.writes[0]] == model_.slots[unit.writes[0]].users.size())
    made -= model_.slots[*unit.overwrites].bytes;
  return {made, after};
}

std::size_t LiveBytes::run(std::uint32_t number) {
  const Change change = this->change(number);
  const std::size_t meanwhile = live_ + change.during;
  live_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(live_) + change.after);
  for (const std::uint32_t slot : model_.units[number].slots) --left_[slot];
  return meanwhile;
}

}  // namespace soapstone::runtime
