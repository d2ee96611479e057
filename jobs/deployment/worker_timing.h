// Times files in a runtime, in turn, and says what its samples mean.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "core/base/progress.h"
#include "cost/models/measured_cost.h"
#include "jobs/deployment/deployment.h"

namespace soapstone::jobs {

/// A model in the worker, prepared with inputs on which it has run.
struct TimedFile {
  std::size_t model = 0;
  std::vector<workers::NamedTensor> inputs;
  double load_s = 0;   ///< What loading it took.
  double first_s = 0;  ///< What its first runs took, with all that the worker does around them.
};
/// `graph`: what was read from the file, for its inputs. Random numbers, or zeros if the model
/// refuses these.
/// Errors: kUnsupported: the runtime cannot load or run it, with the file and what can be done;
/// kUnavailable: the runtime does not work.
core::Result<TimedFile> load_to_time(Deployment& deployment, const std::filesystem::path& file,
                                     const core::Graph& graph, std::uint64_t seed);

struct TurnOptions {
  int most_rounds = 400;
  double budget_s = 1;
  /// Looked at every few rounds: whether the samples say enough. May be empty.
  std::function<bool(std::span<const workers::Samples>)> is_enough;
};
/// By model; all have equally many samples. Precondition: the models are prepared.
/// Errors: kUnsupported, kUnavailable, kInterrupted.
core::Result<std::vector<workers::Samples>> sample_in_turn(Deployment& deployment,
                                                           std::span<const std::size_t> models,
                                                           const TurnOptions& options,
                                                           const core::StopToken& stop);

/// Whether times are those of the processor: of one thread they leave out what other programs take.
/// Not every runtime can tell them, and they say nothing of a device that is no processor.
bool is_processor_time(const Deployment& deployment, std::span<const workers::Samples> samples);
cost::Timing timing_of(const workers::Samples& samples, bool processor_time);
cost::Comparison comparison_of(const workers::Samples& a, const workers::Samples& b,
                               bool processor_time);

}  // namespace soapstone::jobs
