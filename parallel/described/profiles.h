// Figures of models, devices and links that were measured somewhere else: times of layers on one
// node, what a layer holds, and how fast nodes and the GPUs of a node send. Knows no plan.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace soapstone::parallel {

/// The share of one GPU in each layer at one degree of tensor parallelism. Units: elements;
/// activations and outputs are of one sample, outputs are whole.
struct LayerSizes {
  std::vector<double> parameters, saved_activations, outputs;
};

struct ProfiledModel {
  std::size_t layers = 0;
  double element_bytes = 4;
  bool begins_with_embedding = false;
  std::map<std::int64_t, LayerSizes> sizes;  ///< By degree of tensor parallelism.
};

struct ProfiledDevice {
  double memory_bytes = 0;
  std::int64_t gpus_per_node = 1;
};

/// One profile of a model on a device. Units: seconds, of a microbatch.
struct LayerTimes {
  std::int64_t tensor_parallel = 1, microbatch = 1;
  std::vector<double> forward_s, backward_s;
  /// One update of a model of the first layer, two of the second and the last one.
  double update_s = 0;
};

/// The rate of `pairs` pairs of GPUs that send at once, all of them together:
/// a·l² + b·l + c GB/s with l = log2(bytes of a pair / 10⁶), but no more than `most`.
struct LinkFit {
  std::int64_t pairs = 1;
  std::array<double, 3> fit = {};
  double most_bytes_per_s = 0;
};

struct Profiles {
  using Ends = std::pair<std::string, std::string>;
  std::map<std::string, ProfiledModel> models;
  std::map<std::string, ProfiledDevice> devices;
  std::map<Ends, std::vector<LinkFit>> between_nodes;  ///< From a device, to a device.
  /// By device and number of GPUs.
  std::map<std::pair<std::string, std::int64_t>, LinkFit> within_node;
  std::map<Ends, std::vector<LayerTimes>> times;  ///< By model and device, ascending microbatches.
};

/// docs/plans.md describes the format. Errors: kInvalidInput with the place in the document: a key
/// is missing, a figure is none, lists have not one entry for each layer, a profile is of a model
/// or device that is not there, or is there twice.
core::Result<Profiles> profiles_from_json(std::string_view text);

}  // namespace soapstone::parallel
