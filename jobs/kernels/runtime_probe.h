// Shows graphs to the runtime of a deployment and reports what it made of them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include "core/graph/graph.h"
#include "jobs/deployment/deployment.h"
#include "jobs/kernels/runtime_launches.h"

namespace soapstone::jobs {

/// A graph that was observed: names and ids may differ from those of the graph that was given.
struct Observation {
  core::Graph graph;
  ObservedGraph observed;
};

class RuntimeProbe {
 public:
  using Write =
      std::function<core::Status(const core::Graph& graph, const std::filesystem::path& path)>;

  /// How long a graph is timed as a whole.
  struct Effort {
    int rounds;
    double budget_us;
  };

  /// Errors: kUnavailable.
  static core::Result<RuntimeProbe> make(Deployment deployment, int opset);

  /// A part of a model: inputs and outputs have no names. Errors: kUnsupported if it cannot be
  /// written, or the runtime refuses it; kUnavailable.
  core::Result<Observation> observe(const core::Graph& graph);
  /// A whole model, written as it is handed out.
  core::Result<Observation> observe_model(const core::Graph& graph, const Write& write);
  const Deployment& deployment() const { return deployment_; }

 private:
  RuntimeProbe(Deployment deployment, core::PrivateFolder folder, int opset);
  core::Result<workers::RuntimeProfile> profile(const core::Graph& graph, const Write& write,
                                                const Effort& effort);
  core::Result<workers::RuntimeProfile>
  measured(std::size_t model, std::span<const workers::NamedTensor> inputs, const Effort& effort);

  Deployment deployment_;
  core::PrivateFolder folder_;
  Write write_part_;
};

}  // namespace soapstone::jobs
