// See pair_clock.h.
#include "jobs/gains/pair_clock.h"

#include <array>

#include "core/base/stop_scope.h"
#include "jobs/models/model_files.h"
#include "runtime/launches/host_backend.h"
#include "search/baseline/simplify.h"

namespace soapstone::jobs {
namespace {

constexpr int kMostPairFailures = 3;
/// What a rule's side may take. They are small: a runtime that takes longer hangs.
constexpr double kLongestLoadS = 60, kLongestRunS = 30;

}  // namespace

core::Result<std::unique_ptr<PairClock>> PairClock::make(Deployment deployment) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto folder, core::PrivateFolder::make());
  deployment.worker.limit_waits(kLongestLoadS, kLongestRunS);
  return std::unique_ptr<PairClock>(
      new PairClock(std::move(deployment), std::move(folder), runtime::make_reference_backend()));
}

core::Result<std::size_t> PairClock::load(const core::Graph& graph, const std::string& name) {
  SOAPSTONE_ASSIGN_OR_RETURN(const core::Graph folded, search::fold_constants(graph, *folding_));
  const auto path = folder_.path() / (name + ".onnx");
  SOAPSTONE_RETURN_IF_ERROR(models::write_onnx(folded, *model_of(folded).header, path));
  SOAPSTONE_ASSIGN_OR_RETURN(const TimedFile file, load_to_time(deployment_, path, folded, 0));
  return file.model;
}

core::Result<cost::Comparison> PairClock::time_both(const core::Graph& a, const core::Graph& b,
                                                    const TurnOptions& options,
                                                    const core::StopToken& stop) {
  const core::StopScope scope(&stop);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model_a, load(a, "a"));
  const auto model_b = load(b, "b");
  if (!model_b) {
    deployment_.worker.close(model_a);
    return model_b.error();
  }
  const std::array models{model_a, *model_b};
  const auto samples = sample_in_turn(deployment_, models, options, stop);
  for (const std::size_t model : models) deployment_.worker.close(model);
  if (!samples) return samples.error();
  return comparison_of((*samples)[0], (*samples)[1], is_processor_time(deployment_, *samples));
}

core::Result<std::optional<cost::Comparison>> PairClock::compare(const core::Graph& a,
                                                                 const core::Graph& b,
                                                                 const TurnOptions& options,
                                                                 const core::StopToken& stop) {
  const auto compared = time_both(a, b, options, stop);
  if (compared) {
    failures_ = 0;
    return std::optional(*compared);
  }
  const core::ErrorCode code = compared.error().code;
  if (code == core::ErrorCode::kInterrupted) return compared.error();
  failures_ = code == core::ErrorCode::kUnavailable ? failures_ + 1 : 0;
  if (failures_ >= kMostPairFailures) return compared.error();
  return std::optional<cost::Comparison>();
}

}  // namespace soapstone::jobs
