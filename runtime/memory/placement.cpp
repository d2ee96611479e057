// See placement.h. Values that share bytes form trees; the root of a tree gets a slot in the
// arena for the time from the first to the last use of any value in it.
#include "runtime/memory/placement.h"

#include <algorithm>

#include "core/base/check.h"
#include "runtime/launches/view.h"

namespace soapstone::runtime {

using core::TensorId;

namespace {

/// Results of opaque operators whose size nobody knows count nothing.
std::size_t known_bytes(const core::TensorType& type) {
  return type.shape_known && core::concrete(type.shape) ? storage_bytes(type) : 0;
}

}  // namespace

Placement::Placement(const core::Graph& graph, const ExecutionPlan& plan,
                     std::span<const std::optional<std::size_t>> in_place, Detail detail,
                     Results results)
    : graph_(graph), plan_(plan), numbers_(graph.tensor_bound() * 2, kNone) {
  for (TensorId input : graph.inputs()) make(input, Layout::kRowMajor, Home::kGraphInput, 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) add_step(plan.steps[i], i);
  for (TensorId output : graph.outputs()) read(output, Layout::kRowMajor, plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const RewriteStep& step = plan.steps[i];
    if (step.kind != RewriteStep::Kind::kLaunch || !in_place[step.number]) continue;
    share_in_place(plan.launches[step.number], plan.layouts[step.number], *in_place[step.number],
                   i);
  }
  if (results == Results::kOutside) move_results_outside();
  assign_slots(detail);
}

std::uint32_t& Placement::number(TensorId tensor, Layout layout) {
  return numbers_[tensor.index() * 2 + static_cast<std::size_t>(layout)];
}

std::uint32_t Placement::make(TensorId tensor, Layout layout, Home home, std::size_t step) {
  const auto value = static_cast<std::uint32_t>(values_.size());
  number(tensor, layout) = value;
  values_.push_back({tensor, home, known_bytes(graph_.tensor(tensor).type), kNone, 0, step, step});
  return value;
}

void Placement::read(TensorId tensor, Layout layout, std::size_t step) {
  if (number(tensor, layout) == kNone) {
    CHECK(graph_.is_constant_expression(tensor), "a tensor is read before it is made");
    make(tensor, layout, Home::kConstant, step);
  }
  Value& root = values_[find(number(tensor, layout)).root];
  root.last_use = std::max(root.last_use, step);
}

void Placement::add_view(const View& view, std::size_t step) {
  const core::Node& node = graph_.node(view.node);
  if (node.op->movement == core::Movement::kJoin) return add_join(node, step);
  const std::uint32_t source = number(node.inputs[0], view.layout);
  CHECK(source != kNone, "a view of a tensor that is not made");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Layout layout = canonical(graph_.tensor(node.outputs[i]).type, view.layout);
    Value& value = values_[make(node.outputs[i], layout, Home::kArena, step)];
    value.inside = source;
    value.offset = view_offset(graph_, view.node, i, view.layout);
  }
}

void Placement::add_join(const core::Node& concat, std::size_t step) {
  const std::uint32_t whole = make(concat.outputs[0], Layout::kRowMajor, Home::kArena, step);
  std::size_t offset = 0;
  for (TensorId input : concat.inputs) {
    Value& part = values_[number(input, Layout::kRowMajor)];
    CHECK(part.inside == kNone && part.home == Home::kArena, "a part of two tensors");
    part.inside = whole;
    part.offset = offset;
    offset += part.bytes;
    values_[whole].first_use = std::min(values_[whole].first_use, part.first_use);
  }
}

void Placement::add_step(const RewriteStep& step, std::size_t at) {
  if (step.kind == RewriteStep::Kind::kView) return add_view(plan_.views[step.number], at);
  if (step.kind == RewriteStep::Kind::kConversion) {
    const Conversion& conversion = plan_.conversions[step.number];
    read(conversion.tensor, conversion.from, at);
    make(conversion.tensor, conversion.to, Home::kArena, at);
    return;
  }
  const Launch& launch = plan_.launches[step.number];
  const LaunchLayouts& layouts = plan_.layouts[step.number];
  for (std::size_t i = 0; i < launch.inputs.size(); ++i)
    read(launch.inputs[i], layouts.inputs[i], at);
  for (std::size_t i = 0; i < launch.outputs.size(); ++i)
    make(launch.outputs[i], layouts.outputs[i], Home::kArena, at);
}

void Placement::share_in_place(const Launch& launch, const LaunchLayouts& layouts,
                               std::size_t input, std::size_t step) {
  const Found under = find(number(launch.inputs[input], layouts.inputs[input]));
  const Found result = find(number(launch.outputs[0], layouts.outputs[0]));
  Value& old_root = values_[under.root];
  Value& new_root = values_[result.root];
  if (old_root.home != Home::kArena || old_root.last_use != step) return;
  if (result.root == under.root || old_root.bytes != new_root.bytes) return;
  if (under.offset != 0 || result.offset != 0 || new_root.first_use != step) return;
  for (std::size_t i = 0; i < launch.inputs.size(); ++i) {
    if (i != input && find(number(launch.inputs[i], layouts.inputs[i])).root == under.root) return;
  }
  new_root.inside = under.root;
  old_root.last_use = std::max(old_root.last_use, new_root.last_use);
}

Placement::Found Placement::find(std::uint32_t value) const {
  std::size_t offset = 0;
  while (values_[value].inside != kNone) {
    offset += values_[value].offset;
    value = values_[value].inside;
  }
  return {value, offset};
}

void Placement::move_results_outside() {
  for (const TensorId output : graph_.outputs()) {
    const std::uint32_t value = number(output, Layout::kRowMajor);
    const Found found = find(value);
    Value& root = values_[found.root];
    if (root.home != Home::kArena || root.bytes != values_[value].bytes) continue;
    root.home = Home::kGraphOutput;
    root.tensor = output;
  }
}

void Placement::assign_slots(Detail detail) {
  std::vector<MemoryPlan::Slot> slots;
  for (Value& value : values_) {
    if (value.home != Home::kArena || value.inside != kNone) continue;
    value.slot = slots.size();
    slots.push_back({value.tensor, 0, value.bytes, value.first_use, value.last_use});
  }
  if (detail == Detail::kOffsets) {
    memory_ = plan_memory(std::move(slots));
  } else {
    memory_.peak_bytes = peak_bytes(slots);
    memory_.slots = std::move(slots);
  }
}

std::optional<std::size_t> Placement::slot_of(TensorId tensor, Layout layout) const {
  const std::uint32_t value = numbers_[tensor.index() * 2 + static_cast<std::size_t>(layout)];
  if (value == kNone) return std::nullopt;  // a constant
  const Value& root = values_[find(value).root];
  return root.home == Home::kArena ? std::optional(root.slot) : std::nullopt;
}

Placement::Place Placement::of(TensorId tensor, Layout layout) const {
  const std::uint32_t value = numbers_[tensor.index() * 2 + static_cast<std::size_t>(layout)];
  CHECK(value != kNone, "a tensor that the plan does not place");
  const Found found = find(value);
  const Value& root = values_[found.root];
  if (root.home != Home::kArena) return {root.home, root.tensor, found.offset};
  return {Home::kArena, TensorId::none(), memory_.slots[root.slot].offset + found.offset};
}

}  // namespace soapstone::runtime
