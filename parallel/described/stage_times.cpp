// See stage_times.h.
#include "parallel/described/stage_times.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::parallel {
namespace {

// Adam reads weight, gradient and two states, and writes weight and states.
constexpr double kPassesOfAdam = 7;
// Copies into a bucket, scaling and copies back read and write each.
constexpr double kPassesOfBuckets = 6;
// The gradient of an embedding is cleared and written, and is added to that of all microbatches.
constexpr double kPassesOfEmbedding = 4;
constexpr double kPassesOfItsResult = 2;

std::string place_of(std::size_t stage) { return fmt::format("stages[{}]", stage); }
std::string place_of(std::size_t stage, std::size_t replica) {
  return fmt::format("{}.devices[{}]", place_of(stage), replica);
}

template <class Map>
std::string keys_text(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& entry : map) keys.push_back(fmt::to_string(entry.first));
  return fmt::to_string(fmt::join(keys, ", "));
}

core::Result<const ProfiledModel*> model_of(const Profiles& profiles, const DescribedPlan& plan) {
  const auto found = profiles.models.find(plan.model);
  if (found != profiles.models.end()) return &found->second;
  return core::unavailable(fmt::format("the profiles have no model '{}'", plan.model),
                           fmt::format("there are {}", keys_text(profiles.models)))
      .at("model");
}

core::Result<const LayerSizes*> sizes_of(const Profiles& profiles, const DescribedPlan& plan,
                                         std::size_t stage) {
  SOAPSTONE_ASSIGN_OR_RETURN(const ProfiledModel* const model, model_of(profiles, plan));
  const std::int64_t degree = plan.stages[stage].tensor_parallel;
  const auto found = model->sizes.find(degree);
  if (found != model->sizes.end()) return &found->second;
  return core::unavailable(
             fmt::format("the profiles do not say what a GPU has of {} with tensor_parallel {}",
                         plan.model, degree),
             fmt::format("there are {}", keys_text(model->sizes)))
      .at(place_of(stage) + ".tensor_parallel");
}

core::Status check_device(const Profiles& profiles, const DescribedStage& stage,
                          const std::string& name, const std::string& place) {
  const auto device = profiles.devices.find(name);
  if (device == profiles.devices.end())
    return core::unavailable(fmt::format("the profiles have no device '{}'", name),
                             fmt::format("there are {}", keys_text(profiles.devices)))
        .at(place);
  if (stage.tensor_parallel > device->second.gpus_per_node)
    return core::invalid_input(
               fmt::format("a replica of {} GPUs, and a node of {} has {}", stage.tensor_parallel,
                           name, device->second.gpus_per_node),
               "the GPUs of a replica are in one node: take a smaller tensor_parallel")
        .at(place);
  return core::Done{};
}

/// The profiles of one degree of tensor parallelism, by ascending microbatches.
core::Result<std::vector<const LayerTimes*>>
profiles_of(const Profiles& profiles, const DescribedPlan& plan, const DescribedStage& stage,
            const std::string& device, const std::string& place) {
  std::vector<const LayerTimes*> found;
  std::set<std::int64_t> degrees;
  if (const auto times = profiles.times.find({plan.model, device}); times != profiles.times.end())
    for (const LayerTimes& entry : times->second) {
      degrees.insert(entry.tensor_parallel);
      if (entry.tensor_parallel == stage.tensor_parallel) found.push_back(&entry);
    }
  if (!found.empty()) return found;
  return core::unavailable(fmt::format("there are no times of {} on {} with tensor_parallel {}",
                                       plan.model, device, stage.tensor_parallel),
                           degrees.empty()
                               ? std::string("profile it on this device")
                               : fmt::format("there are those with {}", fmt::join(degrees, ", ")))
      .at(place);
}

using LayerFigure = double (*)(const LayerTimes& times, std::size_t layer);

/// The times of the profile at a position; no longer than those of a larger microbatch, which would
/// contradict them.
double figure_at(const std::vector<const LayerTimes*>& profiles, std::size_t at, LayerFigure figure,
                 std::size_t layer) {
  double least = figure(*profiles[at], layer);
  for (std::size_t k = at + 1; k < profiles.size(); ++k)
    least = std::min(least, figure(*profiles[k], layer));
  return least;
}

/// Linear between two microbatches that were profiled, and beyond the last one. A smaller
/// microbatch than the first takes no less than its share and no more than the first.
double interpolated(const std::vector<const LayerTimes*>& profiles, std::int64_t microbatch,
                    LayerFigure figure, std::size_t layer) {
  const auto samples = [&](std::size_t at) {
    return static_cast<double>(profiles[at]->microbatch);
  };
  const auto wanted = static_cast<double>(microbatch);
  const auto next = std::ranges::lower_bound(profiles, microbatch, {}, &LayerTimes::microbatch);
  const auto position = static_cast<std::size_t>(next - profiles.begin());
  if (next != profiles.end() && (*next)->microbatch == microbatch)
    return figure_at(profiles, position, figure, layer);
  if (profiles.size() == 1)
    return figure_at(profiles, 0, figure, layer) * std::max(1.0, wanted / samples(0));
  const std::size_t upper = std::clamp<std::size_t>(position, 1, profiles.size() - 1);
  const std::size_t lower = upper - 1;
  const double from = figure_at(profiles, lower, figure, layer);
  const double to = figure_at(profiles, upper, figure, layer);
  const double value =
      from + (to - from) * (wanted - samples(lower)) / (samples(upper) - samples(lower));
  return wanted < samples(lower) ? std::clamp(value, from * wanted / samples(lower), from) : value;
}

double forward_s_of(const LayerTimes& times, std::size_t layer) { return times.forward_s[layer]; }
double backward_s_of(const LayerTimes& times, std::size_t layer) { return times.backward_s[layer]; }
double update_s_of(const LayerTimes& times, std::size_t) { return times.update_s; }

/// The parameters that `update_s` updates: the first layer, the second one twice and the last.
double updated_parameters(const LayerSizes& sizes) {
  const std::vector<double>& all = sizes.parameters;
  if (all.size() < 3) {
    double sum = 0;
    for (const double parameters : all) sum += parameters;
    return sum;
  }
  return all.front() + 2 * all[1] + all.back();
}

}  // namespace

core::Result<StageSizes> stage_sizes(const Profiles& profiles, const DescribedPlan& plan,
                                     std::size_t stage) {
  SOAPSTONE_ASSIGN_OR_RETURN(const ProfiledModel* const model, model_of(profiles, plan));
  SOAPSTONE_ASSIGN_OR_RETURN(const LayerSizes* const sizes, sizes_of(profiles, plan, stage));
  const std::vector<std::size_t>& layers = plan.stages[stage].layers;
  const bool is_last = stage + 1 == plan.stages.size();
  const std::size_t end = layers.back() + 1;
  if (end > model->layers || (is_last && end < model->layers))
    return core::invalid_input(fmt::format("the stages have {} layers and {} has {}", end,
                                           plan.model, model->layers),
                               "give each layer of the model to one stage")
        .at(place_of(stage) + ".layers");
  StageSizes sum;
  for (const std::size_t layer : layers) {
    const double saved = sizes->saved_activations[layer] * model->element_bytes;
    sum.parameters += sizes->parameters[layer];
    sum.saved_bytes += saved;
    sum.largest_saved_bytes = std::max(sum.largest_saved_bytes, saved);
  }
  sum.parameter_bytes = sum.parameters * model->element_bytes;
  sum.output_bytes = sizes->outputs[layers.back()] * model->element_bytes;
  return sum;
}

core::Status check_devices(const Profiles& profiles, const DescribedPlan& plan) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (std::size_t j = 0; j < plan.replicas(); ++j)
      SOAPSTONE_RETURN_IF_ERROR(
          check_device(profiles, plan.stages[s], plan.stages[s].devices[j], place_of(s, j)));
  return core::Done{};
}

core::Result<StageTimes> stage_times(const Profiles& profiles, const DescribedPlan& plan,
                                     std::size_t stage, std::size_t replica) {
  const DescribedStage& described = plan.stages[stage];
  const std::string& device = described.devices[replica];
  SOAPSTONE_ASSIGN_OR_RETURN(const StageSizes sum, stage_sizes(profiles, plan, stage));
  SOAPSTONE_ASSIGN_OR_RETURN(const LayerSizes* const sizes, sizes_of(profiles, plan, stage));
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::vector<const LayerTimes*> times,
      profiles_of(profiles, plan, described, device, place_of(stage, replica)));
  const ProfiledModel& model = profiles.models.at(plan.model);
  const double update_s = interpolated(times, plan.microbatch, update_s_of, 0);
  const double updated = std::max(1.0, updated_parameters(*sizes));
  const double pass_s = update_s / updated / kPassesOfAdam;  // One element's.
  StageTimes result;
  result.pass_s = pass_s;
  for (const std::size_t layer : described.layers) {
    result.forward_s += interpolated(times, plan.microbatch, forward_s_of, layer);
    result.backward_s += interpolated(times, plan.microbatch, backward_s_of, layer);
    if (layer == 0 && model.begins_with_embedding)
      result.backward_s +=
          pass_s * (kPassesOfEmbedding * sizes->parameters[0] +
                    kPassesOfItsResult * sizes->outputs[0] * static_cast<double>(plan.microbatch));
  }
  result.buckets_s = pass_s * kPassesOfBuckets * sum.parameters;
  result.update_s = update_s * sum.parameters / updated;
  return result;
}

}  // namespace soapstone::parallel
