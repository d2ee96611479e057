// The model and the machine that a plan is about.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/models/model_files.h"
#include "parallel/topology/topology.h"

namespace soapstone::jobs {

struct PlannedModelRequest {
  std::string model;  ///< Path of an ONNX file, or the name of a built-in network.
  std::map<std::string, std::int64_t> set;  ///< Parameters of a built-in network.
  Shapes shapes;                            ///< Sizes that a file leaves open.
  /// Samples of all devices together; in a file, the first size of inputs that leave it open or
  /// have 1 there.
  std::optional<std::int64_t> batch;
};

/// A model with its weights marked, by tensor: what operators read that is constant, of any type,
/// and of more than one number. Of what is computed from constants alone, the result is marked.
struct MarkedModel {
  core::Graph graph;
  std::vector<bool> is_weight;
  std::shared_ptr<const models::ModelHeader> header;  ///< Of its file, or of one that it may have.
};

/// A built-in network is built without weights. Errors: kInvalidInput; kUsage if what is for
/// built-in networks is given with a file.
core::Result<MarkedModel> load_planned_model(const PlannedModelRequest& request,
                                             const Context& context);

/// The forward part of a step of training: the model with a loss behind its last result that can
/// have one (training_step() chooses it), and the labels as an input. Nodes and tensors of the
/// model keep their numbers. A model without such a result stays as it is, and `context` is warned.
MarkedModel with_loss(const MarkedModel& model, const Context& context);

/// By the name of a preset or the path of a JSON file. Errors: kInvalidInput.
core::Result<parallel::Topology> load_topology(const std::string& name);

}  // namespace soapstone::jobs
