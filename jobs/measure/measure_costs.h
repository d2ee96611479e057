// measure_costs(): times every launch that a search of some models meets on a device, so that it
// can optimize them for the device where that is not.
#pragma once

#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/devices/devices.h"
#include "jobs/rules/rule_library.h"
#include "search/base/types.h"

namespace soapstone::jobs {

struct MeasureRequest {
  std::vector<std::string> models;  ///< Paths of ONNX files, or names of built-in networks.
  /// Path of a file of JSON Lines. One that is there is read first, and nothing in it is measured
  /// again: an interrupted run goes on.
  std::string output;
  DeviceRequest device;  ///< Its `costs` are of no meaning here.
  double time_s = 480;   ///< For all models together.
  RuleRequest rules;
  search::SearchOptions search;  ///< Its time and pointers are set by the job.
};

struct MeasureOutcome {
  struct Model {
    std::string name;
    std::size_t graphs = 0;     ///< Expanded by the search.
    std::int64_t measured = 0;  ///< Launches that nobody had timed before.
    bool has_ended = false;     ///< The search ended by itself: another run finds nothing new.
    double cost_us = 0, best_us = 0;  ///< Of the model, and of the best graph found.
  };
  std::string device;
  std::vector<Model> models;                 ///< As many as there was time for.
  std::int64_t known_before = 0, known = 0;  ///< Launches in the file.
  bool interrupted = false;
  bool has_ended() const;  ///< Of all models that were asked for.
  std::size_t asked_for = 0;
};

/// A model's launches are timed as long as its share of the time lasts, and the file is written
/// every ten seconds, after each model, and when the job is told to stop. Errors: kUsage; those of
/// reading the models and the file; kInvalidInput for a file of another device's costs;
/// kUnavailable without the device, and, with what was measured in the file, if the device fails.
core::Result<MeasureOutcome> measure_costs(const MeasureRequest& request,
                                           const Context& context = {});
/// The same on a device that is open.
core::Result<MeasureOutcome> measure_costs(const MeasureRequest& request, runtime::Backend& backend,
                                           const Context& context = {});

}  // namespace soapstone::jobs
