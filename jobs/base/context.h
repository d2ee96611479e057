// How a job and its caller talk while the job runs: progress goes out, a wish to stop comes in.
#pragma once

#include <functional>

#include "core/base/progress.h"
#include "core/base/result.h"

namespace soapstone::jobs {

/// A token that nobody sets.
const core::StopToken& never();

/// By default a job runs silently and to its end. The sink and the token must outlive the job.
struct Context {
  core::ProgressSink& progress = core::silent();
  const core::StopToken& stop = never();
  /// The job calls this once it has results that stopping must not lose: from then on it finishes
  /// and writes what it found, however long that takes. May be empty.
  std::function<void()> keep_results = {};

  void announce_results() const {
    if (keep_results) keep_results();
  }
  /// Errors: kInterrupted once the job was told to stop.
  core::Status check_interrupt() const;
};

}  // namespace soapstone::jobs
