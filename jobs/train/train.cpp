// See train.h.
#include "jobs/train/train.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "jobs/base/usage_error.h"
#include "jobs/train/standard_step.h"
#include "jobs/train/step_file.h"
#include "jobs/train/update_settings.h"
#include "parallel/training/training_forms.h"

namespace soapstone::jobs {
namespace {

using core::TensorId;

/// The tensors among `all` whose names fit one of the patterns of a field of the request.
/// Errors: kUsage for a pattern that fits none.
core::Result<std::vector<TensorId>> named(const core::Graph& graph,
                                          const std::vector<TensorId>& all,
                                          const std::vector<std::string>& patterns,
                                          std::string_view field) {
  std::vector<TensorId> found;
  std::vector<std::string> names;
  for (const TensorId id : all) names.push_back(graph.tensor(id).name);
  for (const std::string& pattern : patterns) {
    const std::size_t before = found.size();
    for (std::size_t k = 0; k < names.size(); ++k)
      if (names[k] == pattern || fnmatch(pattern.c_str(), names[k].c_str(), 0) == 0)
        found.push_back(all[k]);
    if (found.size() > before) continue;
    const std::string close = core::nearest(pattern, names);
    return usage_error(
        fmt::format("`{}`: nothing that can be trained is called '{}'", field, pattern),
        close.empty() ? "inspect-graph shows the model's tensors"
                      : fmt::format("did you mean '{}'?", close));
  }
  return found;
}

/// Real inputs and constants of at least one dimension that are no weights yet.
std::vector<TensorId> other_tensors(const TrainedModel& model) {
  std::vector<TensorId> others;
  for (std::size_t k = 0; k < model.graph.tensor_bound(); ++k) {
    const TensorId id(k);
    if (!model.graph.contains(id) || model.graph.tensor(id).producer.valid()) continue;
    const core::TensorType& type = model.graph.tensor(id).type;
    if (core::is_floating(type.data_type) && !type.shape.empty() &&
        std::ranges::find(model.weights, id) == model.weights.end())
      others.push_back(id);
  }
  return others;
}

/// An error about an opaque node says why it is one, too.
core::Error with_reason(core::Error error, const TrainedModel& model) {
  for (const models::OpaqueNode& node : model.opaque)
    if (!node.name.empty() &&
        error.message.find(fmt::format("'{}'", node.name)) != std::string::npos)
      error.message += fmt::format("; {}: {}", node.op_type, node.reason);
  return error;
}

void describe(const TrainedModel& model, const std::vector<TensorId>& frozen,
              const parallel::TrainingStep& step, TrainOutcome& outcome) {
  std::vector<TensorId> changed = frozen;
  for (const auto& weight : step.weights) {
    outcome.parameters += static_cast<double>(
        core::element_count(*core::concrete(step.graph.tensor(weight.value).type.shape)));
    changed.push_back(weight.source);
  }
  for (const auto& carried : step.carried) changed.push_back(carried.source);
  for (const TensorId id : model.weights)
    if (std::ranges::find(changed, id) == changed.end())
      outcome.untrained.push_back(model.graph.tensor(id).name);
  outcome.weights = step.weights.size();
  outcome.statistics = step.carried.size();
}

}  // namespace

core::Result<TrainOutcome> train(const TrainRequest& request, const Context& context) {
  parallel::TrainingOptions options{.loss = request.loss, .corrects_moments = true};
  SOAPSTONE_RETURN_IF_ERROR(set_update(request, options));
  SOAPSTONE_ASSIGN_OR_RETURN(TrainedModel model, load_trained_model(request.model, context));
  if (!request.drop_dropout)
    SOAPSTONE_RETURN_IF_ERROR(refuse_dropouts(model.dropouts, request.model.model));
  const auto in_model = [&](const core::Error& error) { return error.at(request.model.model); };
  auto trained = parallel::in_training(model.graph, model.momenta);
  if (!trained) return in_model(trained.error());
  SOAPSTONE_ASSIGN_OR_RETURN(const auto added,
                             named(model.graph, other_tensors(model), request.weights, "weight"));
  model.weights.insert(model.weights.end(), added.begin(), added.end());
  SOAPSTONE_ASSIGN_OR_RETURN(options.frozen,
                             named(model.graph, model.weights, request.frozen, "freeze"));
  const std::vector<TensorId> frozen = options.frozen;
  options.carried = trained->carried;
  options.weights = model.weights;
  for (const auto& carried : trained->carried) options.frozen.push_back(carried.source);
  context.progress.stage("differentiating");
  if (model.weights.empty())
    return in_model(core::invalid_input("it has no initializers with floating-point elements",
                                        "name inputs or constants to train in `weight`"));
  auto step = parallel::training_step(trained->graph, options);
  if (!step) return in_model(with_reason(step.error(), model));
  TrainOutcome outcome;
  outcome.path = request.output;
  outcome.forward_nodes = model.graph.order().size();
  auto written = standard_step(*std::move(step), context);
  if (!written) return in_model(written.error());
  outcome.by_law = written->by_law;
  outcome.composed = written->composed;
  describe(model, frozen, written->step, outcome);
  context.progress.stage("writing " + request.output);
  SOAPSTONE_RETURN_IF_ERROR(
      write_step(model, std::move(written->step), request.optimizer, outcome));
  return outcome;
}

}  // namespace soapstone::jobs
