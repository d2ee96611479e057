// See joined_steps.h.
#include "parallel/running/joined_steps.h"

#include <map>
#include <string>
#include <utility>

#include "parallel/pieces/part_graphs.h"
#include "parallel/running/independent_parts.h"

namespace soapstone::parallel {
namespace {

const ComputeStep* compute_step(const RankProgram& program, std::size_t number) {
  return number < program.steps.size() ? std::get_if<ComputeStep>(&program.steps[number]) : nullptr;
}

/// By value, the last step that reads it; the number of steps if the program gives it.
std::vector<std::size_t> last_reads(const RankProgram& program) {
  std::vector<std::size_t> last(program.values.size());
  for (std::size_t k = 0; k < program.steps.size(); ++k)
    for_each_read(program.steps[k], [&](RankValueId value) { last[value.index()] = k; });
  for (const HeldPiece& output : program.outputs) last[output.value.index()] = program.steps.size();
  return last;
}

core::Result<ComputeStep> joined(const RankProgram& program, std::size_t first, std::size_t count,
                                 const std::vector<std::size_t>& last_read) {
  ComputeStep all;
  core::GraphBuilder builder;
  std::map<RankValueId, core::TensorId> known;
  for (std::size_t k = first; k < first + count; ++k) {
    const ComputeStep& step = *compute_step(program, k);
    std::vector<core::TensorId> operands;
    for (const RankValueId value : step.inputs) {
      const auto [at, is_new] = known.try_emplace(value);
      if (is_new) {
        at->second =
            builder.add_input("v" + std::to_string(value.index()), program.values[value.index()]);
        all.inputs.push_back(value);
      }
      operands.push_back(at->second);
    }
    const auto results = append_graph(builder, step.graph, operands);
    for (std::size_t i = 0; i < results.size(); ++i) known[step.outputs[i]] = results[i];
  }
  std::vector<core::TensorId> outputs;
  for (std::size_t k = first; k < first + count; ++k)
    for (const RankValueId value : compute_step(program, k)->outputs)
      if (last_read[value.index()] >= first + count) {
        all.outputs.push_back(value);
        outputs.push_back(known.at(value));
      }
  builder.set_outputs(std::move(outputs));
  SOAPSTONE_ASSIGN_OR_RETURN(all.graph, std::move(builder).finish());
  return all;
}

/// How many steps from the first one on are one run.
core::Result<std::size_t> neighbors_of(const RankProgram& program, std::size_t first) {
  const std::uint64_t own = compute_step(program, first)->graph.hash();
  std::size_t count = 1;
  for (;; ++count) {
    const ComputeStep* const next = compute_step(program, first + count);
    if (!next || next->graph.hash() == own) return count;
    SOAPSTONE_ASSIGN_OR_RETURN(const auto parts, independent_parts(*next));
    if (parts.size() > 1) return count;
  }
}

}  // namespace

core::Result<std::vector<JoinedSteps>> joined_steps(const RankProgram& program) {
  const std::vector<std::size_t> last_read = last_reads(program);
  std::vector<JoinedSteps> runs;
  for (std::size_t k = 0; k < program.steps.size();) {
    const ComputeStep* const first = compute_step(program, k);
    if (!first) {
      ++k;
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<ComputeStep> parts, independent_parts(*first));
    std::size_t count = 1;
    if (parts.size() == 1) {
      SOAPSTONE_ASSIGN_OR_RETURN(count, neighbors_of(program, k));
      SOAPSTONE_ASSIGN_OR_RETURN(parts.front(), joined(program, k, count, last_read));
    }
    runs.push_back({k, count, std::move(parts)});
    k += count;
  }
  return runs;
}

}  // namespace soapstone::parallel
