// Goes backward from the outputs; stages keep their order and get new numbers.
#include "ops/gradients/pruning.h"

#include <algorithm>

#include "ops/gradients/renaming.h"

namespace soapstone::ops {
namespace {

using Tensors = std::set<std::uint32_t>;

/// The tensors from which those given are computed, and themselves.
Tensors with_operands(const Semantics& semantics, Tensors needed) {
  for (std::size_t s = semantics.stages.size(); s-- > 0;)
    if (needed.contains(semantics.input_count + static_cast<std::uint32_t>(s)))
      needed.merge(tensors_read(semantics.stages[s].body));
  return needed;
}

Tensors inputs_among(const Semantics& semantics, const Tensors& tensors) {
  return {tensors.begin(), tensors.lower_bound(semantics.input_count)};
}

}  // namespace

Tensors inputs_read(const Semantics& semantics) {
  return inputs_among(
      semantics, with_operands(semantics, {semantics.outputs.begin(), semantics.outputs.end()}));
}

Semantics pruned(Semantics semantics) {
  Tensors needed = with_operands(semantics, {semantics.outputs.begin(), semantics.outputs.end()});
  const Tensors inputs = inputs_among(semantics, needed);
  std::erase_if(semantics.requirements, [&](const Requirement& r) {
    const Tensors operands = with_operands(semantics, tensors_read(r.value));
    return !std::ranges::includes(inputs, inputs_among(semantics, operands));
  });
  for (const Requirement& r : semantics.requirements)
    needed.merge(with_operands(semantics, tensors_read(r.value)));

  std::vector<std::uint32_t> numbers(semantics.input_count);
  for (std::uint32_t t = 0; t < semantics.input_count; ++t) numbers[t] = t;
  std::vector<Stage> stages;
  for (Stage& stage : semantics.stages) {
    const auto own = static_cast<std::uint32_t>(numbers.size());
    numbers.push_back(semantics.input_count + static_cast<std::uint32_t>(stages.size()));
    if (!needed.contains(own)) continue;
    stage.body = with_tensors(stage.body, numbers);
    stages.push_back(std::move(stage));
  }
  semantics.stages = std::move(stages);
  for (std::uint32_t& output : semantics.outputs) output = numbers[output];
  for (Requirement& r : semantics.requirements) r.value = with_tensors(r.value, numbers);
  return semantics;
}

}  // namespace soapstone::ops
