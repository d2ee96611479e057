// See step_file.h.
#include "jobs/train/step_file.h"

#include <fmt/format.h>

#include <unordered_set>

#include "models/onnx/writing/step_header.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::jobs {
namespace {

using core::TensorId;

class StepFile {
 public:
  StepFile(const TrainedModel& model, parallel::TrainingStep step, parallel::Optimizer optimizer,
           TrainOutcome& outcome)
      : model_(model), step_(std::move(step)), optimizer_(optimizer), outcome_(outcome),
        builder_(step_.graph) {}

  core::Status write() {
    name_inputs();
    name_outputs();
    for (const TensorId id : step_.graph.inputs()) {
      const std::string& name = names_.at(id);
      if (id != step_.labels && id != step_.rate && !header_.defaults.contains(name))
        outcome_.data.push_back(name);
    }
    header_.metadata.emplace_back(kStepNotes, step_notes(outcome_));
    SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph graph, std::move(builder_).finish());
    outcome_.nodes = graph.order().size();
    const models::WrittenHeader written = models::step_header(*model_.header, header_);
    return models::write_onnx(graph, *written.header, outcome_.path,
                              {.keep_original_nodes = written.keeps_original_nodes});
  }

 private:
  /// Gives the tensor a name that no other input or output has.
  std::string name(TensorId id, const std::string& wanted) {
    std::string name = wanted;
    for (int k = 1; !taken_.insert(name).second; ++k) name = fmt::format("{}_{}", wanted, k);
    builder_.set_name(id, name);
    names_[id] = name;
    return name;
  }

  void give_default(TensorId id, core::LiteralPtr value) {
    header_.defaults.emplace(names_.at(id), std::move(value));
  }

  core::LiteralPtr filled(TensorId id, double value) const {
    const core::TensorType& type = step_.graph.tensor(id).type;
    return std::make_shared<const core::Literal>(
        ops::filled_literal(type.data_type, *core::concrete(type.shape), value));
  }

  /// The model's own inputs and weights keep their names, so they come first.
  void name_inputs() {
    std::unordered_set<TensorId> made{step_.labels, step_.rate, step_.step};
    for (const auto& weight : step_.weights)
      made.insert(weight.states.begin(), weight.states.end());
    for (const TensorId id : step_.graph.inputs())
      if (!made.contains(id)) name(id, step_.graph.tensor(id).name);
    for (const auto& weight : step_.weights) {
      if (const auto& value = model_.graph.tensor(weight.source).value)
        give_default(weight.value, value);
      const auto states = parallel::state_names(optimizer_);
      for (std::size_t k = 0; k < weight.states.size(); ++k) {
        name(weight.states[k], fmt::format("{}.{}", names_.at(weight.value), states[k]));
        give_default(weight.states[k], filled(weight.states[k], 0));
      }
    }
    for (const auto& carried : step_.carried)
      if (const auto& value = model_.graph.tensor(carried.source).value)
        give_default(carried.value, value);
    if (step_.labels.valid())
      outcome_.labels = name(step_.labels, step_.graph.tensor(step_.labels).name);
    outcome_.learning_rate = name(step_.rate, "learning_rate");
    if (!step_.step.valid()) return;
    outcome_.step = name(step_.step, "step");
    give_default(step_.step, filled(step_.step, 1));
  }

  void name_outputs() {
    outcome_.loss = name(step_.loss, "loss");
    const auto replace = [&](TensorId input, TensorId output) {
      const std::string& replaced = names_.at(input);
      outcome_.replaced.push_back({replaced, name(output, replaced + ".updated")});
    };
    for (const auto& weight : step_.weights) {
      replace(weight.value, weight.updated);
      for (std::size_t k = 0; k < weight.states.size(); ++k)
        replace(weight.states[k], weight.updated_states[k]);
    }
    for (const auto& carried : step_.carried) replace(carried.value, carried.updated);
  }

  const TrainedModel& model_;
  parallel::TrainingStep step_;
  parallel::Optimizer optimizer_;
  TrainOutcome& outcome_;
  core::GraphBuilder builder_;
  models::StepHeader header_;
  std::unordered_set<std::string> taken_;
  std::map<TensorId, std::string> names_;
};

}  // namespace

core::Status write_step(const TrainedModel& model, parallel::TrainingStep step,
                        parallel::Optimizer optimizer, TrainOutcome& outcome) {
  return StepFile(model, std::move(step), optimizer, outcome).write();
}

}  // namespace soapstone::jobs
