// The model that a step of training is made for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/models/model_files.h"

namespace soapstone::jobs {

struct TrainedModelRequest {
  std::string model;  ///< Path of an ONNX file, or the name of a built-in network.
  std::map<std::string, std::int64_t> set;  ///< Parameters of a built-in network.
  std::uint64_t seed = 0;                   ///< Draws the weights of a built-in network.
  Shapes shapes;                            ///< Sizes that a file leaves open.
  /// Samples; in a file, the first size of inputs that leave it open or have 1 there.
  std::optional<std::int64_t> batch;
};

struct TrainedModel {
  core::Graph graph;
  std::shared_ptr<const models::ModelHeader> header;
  /// Floating constants of at least one dimension that the file calls initializers, or that the
  /// network was built with.
  std::vector<core::TensorId> weights;
  std::map<core::TensorId, double> momenta;  ///< Batch norms have one, by first result.
  std::vector<std::string> dropouts;         ///< As messages name them.
  std::vector<models::OpaqueNode> opaque;    ///< Nodes without a meaning that is known.
};

/// Errors: kUnsupported if there is a dropout, which messages call as `dropouts` do.
core::Status refuse_dropouts(const std::vector<std::string>& dropouts, const std::string& path);

/// Errors: those of reading; kUsage if what is for built-in networks is given with a file, or the
/// other way round.
core::Result<TrainedModel> load_trained_model(const TrainedModelRequest& request,
                                              const Context& context);

}  // namespace soapstone::jobs
