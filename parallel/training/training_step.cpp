// Puts a step together: weights become inputs, then loss, gradients and updates are appended.
#include "parallel/training/training_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/definition/registry.h"
#include "ops/onnx/onnx_reading.h"
#include "parallel/training/adam.h"
#include "parallel/training/backward.h"
#include "parallel/training/loss.h"
#include "parallel/training/phases.h"
#include "parallel/training/recomputation.h"

namespace soapstone::parallel {
namespace {

using core::NodeId;
using core::Result;
using core::TensorId;

struct Update {
  const char* op;
  bool counts_steps;
  core::Attributes defaults;
};

Update update_of(Optimizer optimizer) {
  switch (optimizer) {
  case Optimizer::kSgd:
    return {"sgd", false, {}};
  case Optimizer::kMomentum:
    return {"momentum", true, {{"alpha", 0.9}, {"beta", 1.0}}};
  case Optimizer::kAdam:
  case Optimizer::kAdamW:
    return {"adam", true, {{"epsilon", 1e-8}}};
  }
  CHECK(false, "unreachable");
}

class StepBuilder {
 public:
  StepBuilder(const core::Graph& forward, const TrainingOptions& options)
      : forward_(forward), options_(options), builder_(forward) {}

  Result<TrainingStep> build() {
    SOAPSTONE_RETURN_IF_ERROR(check_options());
    SOAPSTONE_ASSIGN_OR_RETURN(const AppendedLoss loss,
                               append_loss(builder_, forward_, options_.loss));
    step_.loss = loss.value;
    step_.labels = loss.labels;
    std::vector<NodeId> nodes(forward_.order().begin(), forward_.order().end());
    const NodeId last = producer_of(loss.value);
    first_behind_loss_ = std::max(forward_.node_bound(), last.valid() ? last.index() + 1 : 0);
    for (std::size_t id = forward_.node_bound(); id < first_behind_loss_; ++id)
      nodes.emplace_back(id);

    Sensitivity sensitivity = weights();
    for (const NodeId id : nodes) sensitivity.pass(builder_, builder_.node(id));
    Recomputation recomputation(builder_, forward_, options_);
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto gradients,
        append_backward(builder_, nodes, loss.value, sensitivity, recomputation, origins_));
    if (gradients.empty())
      return core::invalid_input("the loss depends on no weight through operators that have "
                                 "derivatives");
    SOAPSTONE_RETURN_IF_ERROR(append_updates(gradients));
    carry();
    return finish(recomputation.nodes());
  }

 private:
  core::Status check_options() const {
    if (!options_.saved.empty() && options_.saved.size() != forward_.tensor_bound())
      return core::invalid_input("what may be saved is not one for each tensor of the network");
    for (const auto& list : {options_.weights, options_.frozen})
      for (const TensorId t : list)
        if (!t.valid() || !forward_.contains(t) || forward_.tensor(t).producer.valid() ||
            !core::is_floating(forward_.tensor(t).type.data_type))
          return core::invalid_input(
              "a weight is no input or constant of the network with floating-point elements");
    return core::Done{};
  }

  bool is_weight_by_itself(TensorId t) const {
    const core::Tensor& tensor = forward_.tensor(t);
    return tensor.value && core::is_floating(tensor.type.data_type) && !tensor.type.shape.empty();
  }

  Sensitivity weights() const {
    std::vector<TensorId> weights = options_.weights;
    if (weights.empty())
      for (std::size_t k = 0; k < forward_.tensor_bound(); ++k)
        if (const TensorId t(k); forward_.contains(t) && is_weight_by_itself(t))
          weights.push_back(t);
    Sensitivity sensitivity;
    for (const TensorId t : weights)
      if (std::ranges::find(options_.frozen, t) == options_.frozen.end()) sensitivity.add(t);
    return sensitivity;
  }

  NodeId producer_of(TensorId t) const { return builder_.tensor(t).producer; }

  // --- Updates -----------------------------------------------------------------------------------

  core::Status append_updates(const std::map<TensorId, TensorId>& gradients) {
    const Update update = update_of(options_.optimizer);
    core::Attributes attributes = update.defaults;
    for (const auto& [name, value] : options_.update_attributes.values())
      attributes.set(name, value);
    step_.rate = builder_.add_input("rate", {core::DataType::kFloat32, {}});
    if (update.counts_steps) step_.step = builder_.add_input("step", {core::DataType::kInt64, {}});
    for (const auto& [source, gradient] : gradients) {
      TrainedWeight weight{source, source, gradient, {}, {}, {}};
      const core::Tensor& tensor = forward_.tensor(source);
      if (tensor.value) {
        weight.value = builder_.add_input(tensor.name, tensor.type);
        builder_.replace_uses(source, weight.value);
      }
      for (std::size_t k = 0; k < state_names(options_.optimizer).size(); ++k)
        weight.states.push_back(
            builder_.add_input(fmt::format("{}/state{}", tensor.name, k), tensor.type));
      SOAPSTONE_RETURN_IF_ERROR(append_update(update, attributes, weight));
      step_.weights.push_back(std::move(weight));
    }
    return core::Done{};
  }

  core::Status append_update(const Update& update, const core::Attributes& attributes,
                             TrainedWeight& weight) {
    SOAPSTONE_ASSIGN_OR_RETURN(const TensorId rate, rate_of(weight.value));
    std::vector<TensorId> inputs{rate};
    if (step_.step.valid()) inputs.push_back(step_.step);
    SOAPSTONE_ASSIGN_OR_RETURN(const TensorId decayed, decayed_weight(weight.value, rate));
    if (options_.corrects_moments && options_.optimizer >= Optimizer::kAdam) {
      if (!adam_) adam_.emplace(builder_, step_.step, attributes, updates_);
      return adam_->append(rate, decayed, weight);
    }
    inputs.push_back(decayed);
    inputs.push_back(weight.gradient);
    inputs.insert(inputs.end(), weight.states.begin(), weight.states.end());
    SOAPSTONE_ASSIGN_OR_RETURN(const auto results,
                               ops::append(builder_, update.op, std::move(inputs), attributes,
                                           forward_.tensor(weight.source).name + "/update"));
    updates_.insert(producer_of(results.front()));
    weight.updated = results.front();
    weight.updated_states.assign(results.begin() + 1, results.end());
    return core::Done{};
  }

  /// The weight, less what decay takes of it whatever its gradient.
  Result<TensorId> decayed_weight(TensorId weight, TensorId rate) {
    if (options_.optimizer != Optimizer::kAdamW || options_.weight_decay == 0) return weight;
    auto share =
        ops::filled_literal(builder_.tensor(weight).type.data_type, {}, options_.weight_decay);
    TensorId lost = builder_.add_constant(std::make_shared<const core::Literal>(std::move(share)));
    for (const TensorId factor : {rate, weight}) {
      SOAPSTONE_ASSIGN_OR_RETURN(const auto product, ops::append(builder_, "mul", {lost, factor}));
      updates_.insert(producer_of(product.front()));
      lost = product.front();
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const auto left, ops::append(builder_, "sub", {weight, lost}));
    updates_.insert(producer_of(left.front()));
    return left.front();
  }

  void carry() {
    for (CarriedTensor carried : options_.carried) {
      const core::Tensor& tensor = forward_.tensor(carried.source);
      carried.value = carried.source;
      if (tensor.value) {
        carried.value = builder_.add_input(tensor.name, tensor.type);
        builder_.replace_uses(carried.source, carried.value);
      }
      step_.carried.push_back(carried);
    }
  }

  /// The learning rate in the element type of the weight.
  Result<TensorId> rate_of(TensorId weight) {
    const core::DataType type = builder_.tensor(weight).type.data_type;
    if (type == core::DataType::kFloat32) return step_.rate;
    if (const auto known = rates_.find(type); known != rates_.end()) return known->second;
    SOAPSTONE_ASSIGN_OR_RETURN(
        const auto cast,
        ops::append(builder_, "cast", {step_.rate}, {{"to", std::string(core::to_string(type))}}));
    updates_.insert(producer_of(cast.front()));
    return rates_.emplace(type, cast.front()).first->second;
  }

  // --- The whole ---------------------------------------------------------------------------------

  Result<TrainingStep> finish(const std::vector<NodeId>& recomputed) {
    std::vector<TensorId> outputs{step_.loss};
    for (const TrainedWeight& weight : step_.weights) {
      outputs.push_back(weight.updated);
      outputs.insert(outputs.end(), weight.updated_states.begin(), weight.updated_states.end());
    }
    for (const CarriedTensor& carried : step_.carried) outputs.push_back(carried.updated);
    builder_.set_outputs(std::move(outputs));
    SOAPSTONE_ASSIGN_OR_RETURN(step_.graph, std::move(builder_).finish());

    step_.phases.assign(step_.graph.node_bound(), Phase::kBackward);
    for (std::size_t id = 0; id < first_behind_loss_; ++id)
      step_.phases[id] = id < forward_.node_bound() ? Phase::kForward : Phase::kLoss;
    for (const NodeId id : recomputed) step_.phases[id.index()] = Phase::kRecompute;
    for (const NodeId id : updates_) step_.phases[id.index()] = Phase::kUpdate;
    step_.origins.assign(step_.graph.node_bound(), NodeId::none());
    for (const auto& [id, origin] : origins_) step_.origins[id.index()] = origin;
    step_.kept = kept_results(step_.graph, step_.phases);
    return std::move(step_);
  }

  const core::Graph& forward_;
  const TrainingOptions& options_;
  core::GraphBuilder builder_;
  TrainingStep step_;
  std::size_t first_behind_loss_ = 0;
  std::set<NodeId> updates_;
  GradientOrigins origins_;
  std::optional<Adam> adam_;
  std::map<core::DataType, TensorId> rates_;
};

}  // namespace

Result<TrainingStep> training_step(const core::Graph& forward, const TrainingOptions& options) {
  return StepBuilder(forward, options).build();
}

}  // namespace soapstone::parallel
