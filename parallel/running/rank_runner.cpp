// See rank_runner.h.
#include "parallel/running/rank_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "parallel/pieces/part_graphs.h"
#include "parallel/running/joined_steps.h"
#include "runtime/execution/fold.h"
#include "runtime/memory/memory_schedule.h"

namespace soapstone::parallel {
namespace {

using runtime::Collectives;

constexpr double kUsPerS = 1e6;
/// A step has thousands of nodes: greedy orders do.
constexpr std::size_t kOrderStates = 1000;

/// A graph with some of its inputs as constants.
struct BakedGraph {
  core::Graph graph;
  std::vector<RankValueId> inputs;
};

core::Result<BakedGraph> baked(const ComputeStep& step,
                               const std::map<RankValueId, core::LiteralPtr>& fixed) {
  BakedGraph result;
  core::GraphBuilder builder;
  std::vector<core::TensorId> operands;
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const auto known = fixed.find(step.inputs[k]);
    if (known != fixed.end()) {
      operands.push_back(builder.add_constant(known->second));
      continue;
    }
    const core::TensorType& type = step.graph.tensor(step.graph.inputs()[k]).type;
    operands.push_back(builder.add_input(fmt::format("x{}", result.inputs.size()), type));
    result.inputs.push_back(step.inputs[k]);
  }
  builder.set_outputs(append_graph(builder, step.graph, operands));
  SOAPSTONE_ASSIGN_OR_RETURN(result.graph, std::move(builder).finish());
  return result;
}

/// The graph with what is constant computed, so that nothing keeps what it is computed from.
core::Result<core::Graph> folded(const core::Graph& graph, runtime::Backend& backend) {
  SOAPSTONE_ASSIGN_OR_RETURN(const runtime::FoldedConstants constants,
                             runtime::fold_constants(graph, backend));
  if (constants.empty()) return graph;
  core::GraphBuilder builder(graph);
  for (const auto& [id, value] : constants) builder.replace_uses(id, builder.add_constant(value));
  return std::move(builder).finish();
}

runtime::Elements elements_of(const core::Literal& value) {
  return {runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(value.bytes().data())),
          value.count(), value.data_type()};
}

runtime::Reduction reduction_of(JoinedValues joined) {
  switch (joined) {
  case JoinedValues::kSum:
    return runtime::Reduction::kSum;
  case JoinedValues::kMax:
    return runtime::Reduction::kMax;
  case JoinedValues::kMin:
    return runtime::Reduction::kMin;
  }
  return runtime::Reduction::kSum;
}

}  // namespace

RankRunner::RankRunner(const RankProgram& program, const std::vector<core::LiteralPtr>& fixed)
    : program_(&program), covered_(program.steps.size(), 1), compiled_(program.steps.size()),
      pool_(std::make_unique<ValuePool>()), values_(program.values.size()),
      times_(program.steps.size()) {
  for (std::size_t k = 0; k < fixed.size(); ++k)
    if (fixed[k]) fixed_.emplace(program.inputs[k].value, fixed[k]);
}

core::Result<RankRunner> RankRunner::make(const RankProgram& program,
                                          const std::vector<core::LiteralPtr>& fixed,
                                          runtime::Backend& backend, runtime::Fusion fusion) {
  RankRunner runner(program, fixed);
  SOAPSTONE_RETURN_IF_ERROR(runner.compile_all(backend, fusion));
  runner.find_last_uses();
  return runner;
}

core::Status RankRunner::compile_all(runtime::Backend& backend, runtime::Fusion fusion) {
  memory_ = &backend.memory();
  working_ = std::make_unique<runtime::WorkingMemory>(backend.memory());
  std::multimap<std::uint64_t, std::pair<core::Graph, std::size_t>> known;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<JoinedSteps> runs, joined_steps(*program_));
  for (const JoinedSteps& run : runs) {
    covered_[run.first] = run.count;
    for (const ComputeStep& part : run.parts) {
      SOAPSTONE_ASSIGN_OR_RETURN(BakedGraph graph, baked(part, fixed_));
      SOAPSTONE_ASSIGN_OR_RETURN(graph.graph, folded(graph.graph, backend));
      graph.graph = runtime::order_for_memory(graph.graph, backend, fusion, kOrderStates).graph;
      Compiled& compiled = compiled_[run.first].emplace_back();
      compiled.inputs = std::move(graph.inputs);
      compiled.outputs = part.outputs;
      const auto [first, last] = known.equal_range(graph.graph.hash());
      const auto same = std::find_if(first, last, [&](const auto& entry) {
        return same_structure(entry.second.first, graph.graph);
      });
      if (same != last) {
        compiled.executable = same->second.second;
        continue;
      }
      SOAPSTONE_ASSIGN_OR_RETURN(
          runtime::Executable executable,
          runtime::Executable::make(graph.graph, backend,
                                    {.fusion = fusion, .working = working_.get()}));
      weight_bytes_ += executable.report().constant_bytes;
      compiled.executable = executables_.size();
      known.emplace(graph.graph.hash(), std::pair(std::move(graph.graph), executables_.size()));
      executables_.push_back(std::move(executable));
    }
  }
  return core::Done{};
}

/// Values go after the last step that reads them, or that makes them if none does; what is sent may
/// still be on its way then. Fixed values stay if anything but a graph reads them, else they are in
/// the graphs alone.
void RankRunner::find_last_uses() {
  std::set<RankValueId> kept;
  for (const HeldPiece& output : program_->outputs) kept.insert(output.value);
  for (const RankStep& step : program_->steps)
    if (const auto* messages = std::get_if<MessageStep>(&step))
      for (const Message& message : messages->sent) kept.insert(message.value);
  std::vector<std::size_t> last(values_.size(), program_->steps.size());
  const auto note = [&](std::size_t step) {
    return [&, step](RankValueId id) { last[id.index()] = step; };
  };
  for (std::size_t k = 0; k < program_->steps.size(); ++k) {
    const RankStep& step = program_->steps[k];
    for_each_read(step, note(k));
    if (const auto* compute = std::get_if<ComputeStep>(&step)) {
      for (const RankValueId id : compute->outputs) last[id.index()] = k;
    } else {
      for_each_read(step, [&](RankValueId id) {
        if (fixed_.contains(id)) kept.insert(id);
      });
    }
  }
  std::erase_if(fixed_, [&](const auto& entry) { return !kept.contains(entry.first); });
  for (const RankValueId id : kept)
    if (!fixed_.contains(id)) dead_at_end_.push_back(id);
  dead_after_.resize(program_->steps.size());
  for (std::size_t v = 0; v < last.size(); ++v)
    if (last[v] < dead_after_.size() && !kept.contains(RankValueId(v)))
      dead_after_[last[v]].push_back(RankValueId(v));
  for (std::size_t k = 0; k < compiled_.size(); ++k) {
    std::set<RankValueId> alive(dead_after_[k].begin(), dead_after_[k].end());
    for (auto part = compiled_[k].rbegin(); part != compiled_[k].rend(); ++part)
      for (const RankValueId id : part->inputs)
        if (alive.erase(id) != 0) part->dead_inputs.push_back(id);
  }
  for (const auto& [id, value] : fixed_) set(id, value);
}

core::Status RankRunner::connect(Collectives& all) {
  all_ = &all;
  for (const RankStep& step : program_->steps) {
    const auto* const reduction = std::get_if<AllReduceStep>(&step);
    if (!reduction || static_cast<int>(reduction->group.size()) == all.size()) continue;
    std::unique_ptr<Collectives>& group = groups_[reduction->group];
    if (group) continue;
    const std::vector<int> ranks(reduction->group.begin(), reduction->group.end());
    SOAPSTONE_ASSIGN_OR_RETURN(group, all.subset(ranks));
  }
  return core::Done{};
}

core::Result<std::vector<core::LiteralPtr>> RankRunner::run(std::vector<core::LiteralPtr> inputs) {
  CHECK(all_ != nullptr, "a rank that is connected");
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) set(program_->inputs[k].value, std::move(inputs[k]));
  const double began_s = core::wall_s();
  const auto now_us = [&] { return (core::wall_s() - began_s) * kUsPerS; };
  for (std::size_t k = 0; k < program_->steps.size();) {
    const std::size_t end = k + covered_[k];
    times_[k].start_us = now_us();
    SOAPSTONE_RETURN_IF_ERROR(run_step(k));
    times_[k].end_us = now_us();
    for (std::size_t j = k + 1; j < end; ++j) times_[j] = {times_[k].end_us, times_[k].end_us};
    for (; k < end; ++k)
      for (const RankValueId id : dead_after_[k]) drop(id);
  }
  SOAPSTONE_RETURN_IF_ERROR(all_->wait());
  std::vector<core::LiteralPtr> outputs;
  for (const HeldPiece& output : program_->outputs)
    outputs.push_back(values_[output.value.index()]);
  for (const RankValueId id : dead_at_end_) drop(id);
  return outputs;
}

core::Status RankRunner::run_step(std::size_t number) {
  const RankStep& step = program_->steps[number];
  for (const Compiled& part : compiled_[number]) {
    SOAPSTONE_RETURN_IF_ERROR(compute(part));
    for (const RankValueId id : part.dead_inputs) drop(id);
  }
  if (!compiled_[number].empty()) return core::Done{};
  if (const auto* messages = std::get_if<MessageStep>(&step)) return exchange(*messages);
  return reduce(std::get<AllReduceStep>(step));
}

core::Status RankRunner::compute(const Compiled& compiled) {
  std::vector<runtime::DeviceBlock> shared;
  std::vector<runtime::DeviceAddress> inputs, outputs;
  for (const RankValueId id : compiled.inputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(runtime::DeviceBlock block,
                               memory_->share(values_[id.index()]->bytes()));
    inputs.push_back(block.address());
    shared.push_back(std::move(block));
  }
  std::vector<Buffer> buffers;
  for (const RankValueId id : compiled.outputs) {
    buffers.push_back(pool_->make(program_->values[id.index()]));
    SOAPSTONE_ASSIGN_OR_RETURN(runtime::DeviceBlock block,
                               memory_->share_to_write(buffers.back().bytes()));
    outputs.push_back(block.address());
    shared.push_back(std::move(block));
  }
  SOAPSTONE_RETURN_IF_ERROR(executables_[compiled.executable].run_at(inputs, outputs));
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    if (!buffers[k].bytes().empty())
      SOAPSTONE_RETURN_IF_ERROR(memory_->copy_out(outputs[k], buffers[k].bytes()));
    set(compiled.outputs[k], buffers[k].value());
  }
  return core::Done{};
}

core::Status RankRunner::exchange(const MessageStep& step) {
  std::vector<Buffer> buffers;
  for (const Message& message : step.received)
    buffers.push_back(pool_->make(program_->values[message.value.index()]));
  SOAPSTONE_RETURN_IF_ERROR(all_->begin_group());
  for (const Message& message : step.sent)
    SOAPSTONE_RETURN_IF_ERROR(
        all_->send(elements_of(*values_[message.value.index()]), static_cast<int>(message.peer)));
  for (std::size_t k = 0; k < buffers.size(); ++k)
    SOAPSTONE_RETURN_IF_ERROR(
        all_->receive(buffers[k].elements(), static_cast<int>(step.received[k].peer)));
  SOAPSTONE_RETURN_IF_ERROR(all_->end_group());
  for (std::size_t k = 0; k < buffers.size(); ++k) set(step.received[k].value, buffers[k].value());
  return core::Done{};
}

core::Status RankRunner::reduce(const AllReduceStep& step) {
  const Buffer to = pool_->make(program_->values[step.to.index()]);
  const auto group = groups_.find(step.group);
  Collectives& ranks = group == groups_.end() ? *all_ : *group->second;
  SOAPSTONE_RETURN_IF_ERROR(ranks.all_reduce(elements_of(*values_[step.from.index()]),
                                             to.elements().address, reduction_of(step.joined)));
  set(step.to, to.value());
  return core::Done{};
}

void RankRunner::set(RankValueId id, core::LiteralPtr value) {
  drop(id);
  live_bytes_ += value->bytes().size();
  most_live_bytes_ = std::max(most_live_bytes_, live_bytes_);
  values_[id.index()] = std::move(value);
}

void RankRunner::drop(RankValueId id) {
  core::LiteralPtr& value = values_[id.index()];
  if (!value) return;
  live_bytes_ -= value->bytes().size();
  value = nullptr;
}

std::vector<std::pair<std::string, std::string>> RankRunner::reference_kernels() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const runtime::Executable& executable : executables_) {
    const auto& some = executable.report().reference_kernels;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace soapstone::parallel
