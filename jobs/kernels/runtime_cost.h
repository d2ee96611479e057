// Costs of graphs by the runtime in which they will be deployed: its kernels, found by observation,
// at the times that they took there.
#pragma once

#include <memory>

#include "core/base/progress.h"
#include "cost/database/cost_database.h"
#include "cost/models/cost_model.h"
#include "jobs/kernels/runtime_probe.h"

namespace soapstone::jobs {

class RuntimeCost : public cost::CostModel {
 public:
  /// How often the runtime was asked, and how often it could not say.
  struct Counts {
    std::size_t observations = 0, failures = 0, patterns = 0;
  };

  /// `database` may be null (nothing is kept) and must outlive the result. `device`: the key of the
  /// device on which the runtime runs. After `stop` (may be null) nothing more is observed.
  static std::unique_ptr<RuntimeCost> make(RuntimeProbe probe, cost::CostDatabase* database,
                                           const std::string& device,
                                           const core::StopToken* stop = nullptr);

  /// Observes a whole model, written by `write`: its kernels become known, with their times among
  /// all others. Errors: those of RuntimeProbe::observe_model.
  virtual core::Status learn(const core::Graph& graph, const RuntimeProbe::Write& write) = 0;
  virtual Counts counts() const = 0;
};

}  // namespace soapstone::jobs
