// compare(): do two models compute the same? Runs both on the same inputs, asks an independent
// runtime, and replays the steps that lead from one to the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/base/context.h"
#include "jobs/compare/proof_check.h"
#include "jobs/devices/devices.h"
#include "jobs/judge/file_judge.h"
#include "jobs/models/model_files.h"
#include "search/equivalence/equivalence.h"
#include "search/equivalence/judgment.h"

namespace soapstone::jobs {

struct CompareRequest {
  std::string a, b;  ///< Paths of ONNX files; `b` was made from `a`.
  Shapes shapes;
  bool fold_default_inputs = false;  ///< models::ImportOptions::fold_default_inputs
  DeviceRequest device;
  search::EquivalenceOptions equivalence;
  /// Random inputs to try; none given: as many as are worth their time.
  std::optional<std::int64_t> samples;
  std::vector<std::string> inputs;  ///< Archives (.npz) with inputs of the caller's own.
  std::string proof;                ///< Path of what optimize() wrote as its proof; empty: none.
  bool allow_range_changes = false;
  bool random_weights = false;  ///< In place of weights that are one number everywhere.
  JudgeRequest judge;
};

struct CompareOutcome {
  std::optional<ProofCheck> proof;
  /// None: the request has neither samples nor inputs, so only the proof was checked.
  std::optional<search::EquivalenceReport> numbers;
  search::JudgeReport judge;

  enum class Verdict : std::uint8_t {
    kEqual,
    kDifferent,
    /// The models hold opaque nodes that do not correspond, and no runtime ran both files.
    kNotDecided,
  };
  Verdict verdict() const;
};

/// Models that differ in numbers are an outcome. Errors: kUsage if there is nothing to compare on;
/// kNotEquivalent if the proof does not hold; those of reading and running the models.
core::Result<CompareOutcome> compare(const CompareRequest& request, const Context& context = {});

}  // namespace soapstone::jobs
