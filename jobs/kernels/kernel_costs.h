// What is known of a runtime's kernels: which nodes they do, and what each costs. Kept in the cost
// database, from which the next process reads it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cost/database/cost_database.h"
#include "jobs/kernels/learned_fusion.h"
#include "jobs/kernels/runtime_probe.h"

namespace soapstone::jobs {

struct KernelCost {
  double us = 0;
  bool reads_private = false, writes_private = false;
  /// Conversions from and to ordinary tensors; none: never seen.
  std::optional<double> enter_us, leave_us;
  bool estimated = false;
  std::string why;  ///< Of an estimate: why it was not measured.
};

/// Reading is safe from several threads as long as nobody adds.
class KernelCosts {
 public:
  /// `database` may be null. `key`: that of the deployment.
  KernelCosts(cost::CostDatabase* database, std::string key);

  const LearnedFusions& fusions() const { return fusions_; }
  const KernelCost* find(std::uint64_t signature) const;
  /// Whether all pairs of neighbors occurred in something that was observed.
  bool knows_edges(const core::Graph& graph) const;
  /// Microseconds a byte, of conversions that were seen.
  double conversion_us(double bytes) const;

  /// Looks for it in the database; false: it is not there, either.
  bool recall(std::uint64_t signature);
  /// `replace`: what was known before gives way.
  void add(const Observation& observation, bool replace);
  void add(std::uint64_t signature, KernelCost cost);
  void add_edges(const core::Graph& graph);

 private:
  void keep_text(const std::string& name, std::string text);

  cost::CostDatabase* database_;
  const std::string key_;
  LearnedFusions fusions_;
  std::unordered_map<std::uint64_t, KernelCost> known_;
  std::unordered_set<std::uint64_t> edges_;
  double converted_us_ = 0, converted_bytes_ = 0;
};

/// Of a tensor; 0 if its shape is not known.
double tensor_bytes(const core::Graph& graph, core::TensorId id);

}  // namespace soapstone::jobs
