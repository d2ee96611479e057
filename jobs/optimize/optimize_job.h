// Gathers what an optimization works with: model, rules, backend, costs. optimize() is made of
// these steps, for callers that replace one of them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/deployment/file_clock.h"
#include "jobs/optimize/batch.h"
#include "jobs/optimize/request.h"
#include "jobs/optimize/trace_writer.h"
#include "search/optimize.h"
#include "search/passes/checkpoint.h"

namespace soapstone::jobs {

class OtherSizes;  // open_result.h

/// Everything that an optimization needs, made before it starts so that mistakes show at once.
struct OptimizeJob {
  std::optional<BatchedFile> batched;  ///< None: the model is the user's own file, or in none.
  std::filesystem::path model_file;    ///< Of which `model` was read.
  models::OnnxModel model;
  LoadedRules rules;
  std::unique_ptr<runtime::Backend> backend;
  /// The same device with factors rounded as the request says, for what is timed. Null: nothing is
  /// rounded.
  std::unique_ptr<runtime::Backend> rounding;
  std::unique_ptr<cost::CostDatabase> database;
  std::shared_ptr<cost::CostModel> cost;
  std::unique_ptr<FileJudge> judge;                ///< Null: there is none.
  std::unique_ptr<FileClock> clock;                ///< Null: our executor is the runtime.
  std::unique_ptr<TraceWriter> trace;              ///< Null: no trace was asked for.
  std::unique_ptr<search::Checkpoint> checkpoint;  ///< Null: the search keeps no checkpoint.
  std::shared_ptr<OtherSizes> other_sizes;         ///< Never null.
  search::OptimizeOptions optimize;

  runtime::Backend& timing() const { return rounding ? *rounding : *backend; }
};

/// Errors: those of check_request(), and of reading the model, the rules and the inputs;
/// kUnsupported if the request is strict.
core::Result<OptimizeJob> prepare(const OptimizeRequest& request, const Context& context);

/// The same with rules that were read before, for a request that check_request() has passed. Rules
/// that leave_out_unwritable() names are taken out.
core::Result<OptimizeJob> prepare(const OptimizeRequest& request, LoadedRules rules,
                                  const Context& context);
/// Takes out the rules whose targets have an operator that the opset cannot express; returns a
/// sentence about the instances of each.
std::vector<std::string> leave_out_unwritable(LoadedRules& loaded, int opset);

}  // namespace soapstone::jobs
