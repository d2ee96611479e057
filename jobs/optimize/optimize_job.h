// What an optimization works with: model, rules, backend, costs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/file_judge.h"
#include "cli/optimize_options.h"
#include "cli/run_main.h"
#include "cli/trace_writer.h"
#include "cost/database/cost_database.h"
#include "models/onnx/format/onnx_model.h"
#include "search/optimize.h"
#include "search/passes/checkpoint.h"

namespace soapstone::cli {

/// Everything that an optimization needs, made before it starts so that mistakes show at once.
struct OptimizeJob {
  models::OnnxModel model;
  LoadedRules rules;
  std::unique_ptr<runtime::Backend> backend;
  std::unique_ptr<cost::CostDatabase> database;
  std::unique_ptr<cost::CostModel> cost;
  std::unique_ptr<FileJudge> judge;                ///< Null: there is none.
  std::unique_ptr<TraceWriter> trace;              ///< Null: not wanted.
  std::unique_ptr<search::Checkpoint> checkpoint;  ///< Likewise.
  search::OptimizeOptions optimize;
};

/// Errors: those of reading the model, the rules and the inputs; kUnsupported for --strict.
core::Result<OptimizeJob> prepare(const OptimizeArguments& arguments, Session& session);

/// The same with rules that were read before. Those that leave_out_unwritable() names are taken
/// out.
core::Result<OptimizeJob> prepare(const OptimizeArguments& arguments, LoadedRules rules,
                                  Session& session);
/// Takes out the rules whose targets have an operator that the opset has no words for, and says so
/// of each.
std::vector<std::string> leave_out_unwritable(LoadedRules& loaded, int opset);

}  // namespace soapstone::cli
