// A plan as annotations of an ONNX model (IR version 11): which devices hold which shards of what
// each node reads and writes, and in which stage of a pipeline it is.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/plan/plan.h"
#include "models/onnx/format/device_annotations.h"

namespace soapstone::jobs {

struct AnnotationReport {
  std::size_t nodes = 0;    ///< That are annotated.
  std::size_t tensors = 0;  ///< Inputs and outputs of them whose shards are said.
  /// What annotations have no words for, and how much of it there is: `partial_sums`, …; see
  /// docs/plans.md.
  std::map<std::string, std::size_t> unsaid;
};

struct Annotated {
  models::DeviceAnnotations annotations;
  AnnotationReport report;
};

Annotated annotations_of(const PlanOutcome& outcome);

/// Writes the model with annotations; its nodes are those that were read, or built. Errors: those
/// of models::write_onnx().
core::Result<AnnotationReport> write_annotated(const PlanOutcome& outcome, const std::string& path);

}  // namespace soapstone::jobs
