// A trace of a run as JSON Lines; docs/trace.md describes every event.
#pragma once

#include <memory>
#include <string>

#include "core/base/file_io.h"
#include "core/base/result.h"
#include "search/base/trace.h"
#include "search/optimize.h"

namespace soapstone::jobs {

struct OptimizeRequest;
struct OptimizeJob;
struct RunSummary;

/// A line an event, on the disk as soon as it happened.
class TraceWriter final : public search::TraceSink {
 public:
  /// Errors: kInvalidInput if the file cannot be written.
  static core::Result<std::unique_ptr<TraceWriter>> create(const std::string& path);
  /// For the graph inside a node: its events are in that trace, with the body's name.
  static std::unique_ptr<TraceWriter> of_body(const TraceWriter& around, const std::string& body);
  /// Use create() or of_body().
  struct Lines;
  TraceWriter(std::shared_ptr<Lines> lines, std::string body);
  ~TraceWriter() override;

  void run_begins(const OptimizeRequest& request, const OptimizeJob& job);
  void simplified(const search::SimplifyReport& report, const core::Graph& baseline) override;
  void pass(const search::TracePass& pass) override;
  void region(const search::TraceRegion& region) override;
  void applied(const search::TraceApplication& application) override;
  void best(const search::TraceBest& best) override;
  /// Errors: kUnavailable if something could not be written on the way.
  core::Status run_ends(const search::OptimizeReport& report, const RunSummary& run);

 private:
  std::shared_ptr<Lines> lines_;
  std::string body_;  ///< Empty: the model itself.
};

}  // namespace soapstone::jobs
