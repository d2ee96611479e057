// How much larger the weights of a result may be than those of the model: nobody wants a file of
// twice the size for a few percent of time, or an embedding twice that the last layer shares.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/graph/graph.h"

namespace soapstone::search {

struct GrowthOptions {
  double share = 0.1;  ///< Of the model's weights; negative: no limit.
  /// So many bytes may be added in any case, unless `share` is 0.
  std::size_t free_bytes = std::size_t{1} << 20;
};

/// Weights are the constants that are left when constant expressions are computed, equal ones
/// counted once. Thread-safe.
class WeightLimit {
 public:
  /// Allows everything.
  WeightLimit() = default;
  WeightLimit(const core::Graph& original, const GrowthOptions& options);

  /// Whether the weights are small enough, all together, and those that are made of a constant of
  /// several kilobytes which operators of several kinds share: it stays shared. Complexity:
  /// linear.
  bool allows(const core::Graph& graph) const;
  /// The bytes of the weights of a part of the graph, without those that the original shares with
  /// other nodes: these stay, whatever becomes of this part.
  std::size_t bytes_of_part(const core::Graph& part) const;
  /// Whether some graph was not allowed.
  bool has_refused() const { return *has_refused_; }
  std::size_t most_bytes() const { return most_bytes_; }
  std::size_t most_growth() const { return most_growth_; }

 private:
  bool is_limited_ = false;
  std::shared_ptr<std::atomic<bool>> has_refused_ = std::make_shared<std::atomic<bool>>(false);
  std::size_t most_bytes_ = 0, most_growth_ = 0;
  /// By hash of a shared constant of the original: bytes that weights made of it may have.
  std::unordered_map<std::uint64_t, double> most_of_shared_;
};

}  // namespace soapstone::search
