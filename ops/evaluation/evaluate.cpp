// CompiledSemantics: stages in order, intermediate tensors in one piece of memory. Small runs, of
// which the generator makes millions, need no allocation at all.
#include "ops/evaluation/evaluate.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/stop_scope.h"
#include "ops/evaluation/evaluate_lanes.h"
#include "ops/evaluation/evaluate_program.h"
#include "ops/evaluation/evaluate_ranks.h"

namespace soapstone::ops {
namespace {

/// Room for `count` values on the stack, or on the heap where that is too little.
template <class T, std::size_t kInline>
class Room {
 public:
  explicit Room(std::size_t count)
      : heap_(count > kInline ? std::make_unique_for_overwrite<T[]>(count) : nullptr) {}
  T* data() { return heap_ ? heap_.get() : stack_; }

 private:
  std::unique_ptr<T[]> heap_;
  T stack_[kInline];
};

/// `[1, 4]` for element `number` in row-major order.
std::string position_text(std::size_t number, const core::Dims& dims) {
  core::Dims index(dims.size());
  auto rest = static_cast<std::int64_t>(number);
  for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) index[d] = rest % dims[d];
  return fmt::format("[{}]", fmt::join(index, ", "));
}

std::int64_t number_of(const Polynomial& size) {
  const auto value = size.as_constant();
  CHECK(value, "a comprehension runs on sizes that are numbers");
  return *value;
}

core::Dims dims_of(const core::Shape& shape) {
  const auto dims = core::concrete(shape);
  CHECK(dims, "a comprehension runs on sizes that are numbers");
  return *dims;
}

}  // namespace

template <class T>
struct CompiledSemantics<T>::Program {
  std::uint32_t input_count;
  std::vector<evaluation::StageProgram<T>> stages;
  std::vector<std::optional<evaluation::Ranks>> ranks;   // of stages that are such
  std::vector<std::size_t> sizes;                        // elements of each stage
  std::vector<std::uint32_t> outputs;                    // tensor numbers
  std::size_t slots = 0, scratch = 0, intermediate = 0;  // elements, for the largest and all stages
  std::uint64_t function_key;
  /// A requirement. Its values are computed after all stages.
  struct Check {
    evaluation::StageProgram<T> values;
    core::Dims dims;
    std::int64_t low, high;
    std::string what;
  };
  std::vector<Check> checks;

  void note(const evaluation::StageProgram<T>& lowered) {
    slots = std::max(slots, lowered.slots.size());
    scratch =
        std::max(scratch, static_cast<std::size_t>(lowered.block()) * lowered.scratch_buffers);
  }

  void add_check(const Requirement& requirement, std::vector<core::Dims> dims) {
    dims.push_back(dims_of(requirement.shape));
    auto tree =
        evaluation::make_tree({requirement.shape, requirement.index, requirement.value}, dims);
    evaluation::merge_loops(tree);
    checks.push_back({evaluation::lower<T>(tree), dims.back(), number_of(requirement.low),
                      number_of(requirement.high), requirement.what});
    note(checks.back().values);
  }

  /// Errors: kInvalidInput if a value is outside of its range.
  core::Status check(const Check& c, std::span<const T* const> tensors, std::int64_t* slot_values,
                     T* scratch_values) const {
    std::vector<T> values(static_cast<std::size_t>(core::element_count(c.dims)));
    evaluation::run_stage(evaluation::Frame<T>{c.values, tensors, values.data(), slot_values,
                                               scratch_values, function_key});
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int64_t value = 0;
      const bool is_int = evaluation::Arithmetic<T>::is_int(values[i], value);
      if (is_int && value >= c.low && value < c.high) continue;
      return core::invalid_input(fmt::format("{} {} at {} is not in [{}, {})", c.what,
                                             is_int ? std::to_string(value) : "that is no integer",
                                             position_text(i, c.dims), c.low, c.high));
    }
    return core::Done{};
  }

  /// Finds the memory that each stage writes: an output, or a piece of the intermediates.
  void place(std::span<const std::span<T>> results, T* memory, T** targets) const {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      targets[s] = nullptr;
      for (std::size_t k = 0; k < outputs.size() && !targets[s]; ++k)
        if (outputs[k] == input_count + s) targets[s] = results[k].data();
      if (targets[s] || sizes[s] == 0) continue;
      targets[s] = memory;
      memory += sizes[s];
    }
  }
};

template <class T>
CompiledSemantics<T>::CompiledSemantics(const Semantics& semantics,
                                        std::span<const core::Dims> input_dims,
                                        std::uint64_t function_key) {
  CHECK(input_dims.size() == semantics.input_count, "wrong number of inputs");
  auto program = std::make_unique<Program>();
  program->input_count = semantics.input_count;
  program->outputs = semantics.outputs;
  program->function_key = function_key;
  std::vector<core::Dims> dims(input_dims.begin(), input_dims.end());
  for (std::size_t s = 0; s < semantics.stages.size(); ++s) {
    const Stage& stage = semantics.stages[s];
    dims.push_back(dims_of(stage.shape));
    auto tree = evaluation::make_tree(stage, dims);
    evaluation::merge_loops(tree);
    program->stages.push_back(evaluation::lower<T>(tree));
    program->ranks.push_back(evaluation::ranks_in(stage, dims));
    const auto& lowered = program->stages.back();
    program->sizes.push_back(static_cast<std::size_t>(core::element_count(dims.back())));
    program->note(lowered);
    const auto number = semantics.input_count + static_cast<std::uint32_t>(s);
    const bool is_output = std::find(semantics.outputs.begin(), semantics.outputs.end(), number) !=
                           semantics.outputs.end();
    if (!is_output) program->intermediate += program->sizes.back();
  }
  for (const Requirement& requirement : semantics.requirements)
    program->add_check(requirement, dims);
  for (std::uint32_t out : semantics.outputs)
    CHECK(out >= semantics.input_count && out < dims.size(), "an output is no stage");
  program_ = std::move(program);
}

template <class T>
CompiledSemantics<T>::~CompiledSemantics() = default;
template <class T>
CompiledSemantics<T>::CompiledSemantics(CompiledSemantics&&) noexcept = default;

template <class T>
core::Status CompiledSemantics<T>::run(std::span<const std::span<const T>> inputs,
                                       std::span<const std::span<T>> outputs) const {
  return execute(inputs, outputs, true);
}

template <class T>
void CompiledSemantics<T>::compute(std::span<const std::span<const T>> inputs,
                                   std::span<const std::span<T>> outputs) const {
  const core::Status status = execute(inputs, outputs, false);
  CHECK(status, "nothing was checked");
}

template <class T>
core::Status CompiledSemantics<T>::execute(std::span<const std::span<const T>> inputs,
                                           std::span<const std::span<T>> outputs,
                                           bool is_checked) const {
  const Program& p = *program_;
  CHECK(inputs.size() == p.input_count && outputs.size() == p.outputs.size(),
        "wrong number of inputs or outputs");
  for (std::size_t k = 0; k < outputs.size(); ++k)
    CHECK(outputs[k].size() == p.sizes[p.outputs[k] - p.input_count], "output has another size");
  Room<T, 512> memory(p.intermediate + p.scratch);
  Room<std::int64_t, 64> slots(p.slots);
  Room<T*, 16> targets(p.stages.size());
  Room<const T*, 24> tensors(inputs.size() + p.stages.size());
  p.place(outputs, memory.data() + p.scratch, targets.data());
  for (std::size_t k = 0; k < inputs.size(); ++k) tensors.data()[k] = inputs[k].data();
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    if constexpr (std::is_same_v<T, double>)
      if (p.ranks[s])
        evaluation::write_ranks(*p.ranks[s], tensors.data()[p.ranks[s]->tensor], targets.data()[s]);
    if (!std::is_same_v<T, double> || !p.ranks[s])
      evaluation::run_stage(evaluation::Frame<T>{p.stages[s],
                                                 {tensors.data(), inputs.size() + s},
                                                 targets.data()[s],
                                                 slots.data(),
                                                 memory.data(),
                                                 p.function_key,
                                                 is_checked});
    if (is_checked && core::StopScope::stopped()) return core::StopScope::interrupted();
    tensors.data()[inputs.size() + s] = targets.data()[s];
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {  // the same tensor may be an output twice
    const T* const source = targets.data()[p.outputs[k] - p.input_count];
    if (source != outputs[k].data()) std::copy_n(source, outputs[k].size(), outputs[k].data());
  }
  if (is_checked)
    for (const auto& check : p.checks)
      SOAPSTONE_RETURN_IF_ERROR(p.check(check, {tensors.data(), inputs.size() + p.stages.size()},
                                        slots.data(), memory.data()));
  return core::Done{};
}

template class CompiledSemantics<double>;
template class CompiledSemantics<Field::Value>;
template class CompiledSemantics<Integer>;

}  // namespace soapstone::ops
