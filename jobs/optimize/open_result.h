// Whether the result of an optimization holds at other sizes than those it was made for: the same
// steps are taken there, and the files compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/optimize/open_judgment.h"
#include "jobs/optimize/optimize_job.h"
#include "models/onnx/open_sizes.h"
#include "search/proofs/proof_chain.h"

namespace soapstone::jobs {

/// The model at other sizes than those it is optimized for, and the rules that are proved there:
/// what one look at a result has read and proved, for the next one.
class OtherSizes {
 public:
  /// None: the model has no such sizes.
  std::shared_ptr<const models::OnnxModel> at(const OptimizeRequest& request,
                                              const OptimizeJob& job,
                                              std::span<const models::OpenDimension> dimensions,
                                              const std::vector<std::int64_t>& sizes);
  /// The dimensions of the job's model that may have other sizes each: models::free_dimensions().
  const std::vector<models::OpenDimension>&
  dimensions(const OptimizeRequest& request, const OptimizeJob& job, const core::StopToken& stop);
  search::ReplayMemory& replays() { return replays_; }

 private:
  std::optional<std::vector<models::OpenDimension>> dimensions_;
  std::map<std::map<std::string, core::Dims>, std::shared_ptr<const models::OnnxModel>> models_;
  search::ReplayMemory replays_;
};

struct OpenResult {
  std::optional<models::OpenExport> file;  ///< None: no size can stay open.
  OpenJudgment judgment;                   ///< Of the file.
  std::vector<core::NodeId> computed;      ///< Constant expressions that the file computes.
  std::string note;  ///< A sentence about what was found; empty: no size was open.
};

/// The chain of the report leads from the model to its graph, in which constants are not folded
/// yet. Takes no part in what is computed at the sizes given: a failure elsewhere means that sizes
/// are declared as they are here.
OpenResult leave_sizes_open(const OptimizeRequest& request, const OptimizeJob& job,
                            const search::OptimizeReport& report, const Context& context);

/// Has the search leave out what closes sizes that the model leaves open, unless the request allows
/// that. All three must outlive it.
void keep_sizes_open(const OptimizeRequest& request, OptimizeJob& job, const Context& context);

}  // namespace soapstone::jobs
