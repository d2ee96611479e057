// CompiledSemantics: stages in order, intermediate tensors in one piece of memory. Small runs, of
// which the generator makes millions, need no allocation at all.
#include "ops/evaluate.h"

#include <algorithm>
#include <array>
#include <memory>

#include "core/check.h"
#include "ops/evaluate_program.h"

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
  std::vector<std::size_t> sizes;                        // elements of each stage
  std::vector<std::uint32_t> outputs;                    // tensor numbers
  std::size_t slots = 0, scratch = 0, intermediate = 0;  // elements, for the largest and all stages
  std::uint64_t function_key;

  /// Where each stage writes: the output that it is, or its place among the intermediates.
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
    const auto& lowered = program->stages.back();
    program->sizes.push_back(static_cast<std::size_t>(core::element_count(dims.back())));
    program->slots = std::max(program->slots, lowered.slots.size());
    program->scratch = std::max(program->scratch, static_cast<std::size_t>(lowered.block()) *
                                                      lowered.scratch_buffers);
    const auto number = semantics.input_count + static_cast<std::uint32_t>(s);
    const bool is_output = std::find(semantics.outputs.begin(), semantics.outputs.end(), number) !=
                           semantics.outputs.end();
    if (!is_output) program->intermediate += program->sizes.back();
  }
  for (std::uint32_t out : semantics.outputs)
    CHECK(out >= semantics.input_count && out < dims.size(), "an output is no stage");
  program_ = std::move(program);
}

template <class T>
CompiledSemantics<T>::~CompiledSemantics() = default;
template <class T>
CompiledSemantics<T>::CompiledSemantics(CompiledSemantics&&) noexcept = default;

template <class T>
void CompiledSemantics<T>::run(std::span<const std::span<const T>> inputs,
                               std::span<const std::span<T>> outputs) const {
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
    evaluation::run_stage(evaluation::Frame<T>{p.stages[s],
                                               {tensors.data(), inputs.size() + s},
                                               targets.data()[s],
                                               slots.data(),
                                               memory.data(),
                                               p.function_key});
    tensors.data()[inputs.size() + s] = targets.data()[s];
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {  // the same tensor may be an output twice
    const T* const source = targets.data()[p.outputs[k] - p.input_count];
    if (source != outputs[k].data()) std::copy_n(source, outputs[k].size(), outputs[k].data());
  }
}

template class CompiledSemantics<double>;
template class CompiledSemantics<Field::Value>;

}  // namespace soapstone::ops
