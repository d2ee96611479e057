// Layouts of a whole graph by what its launches and conversions cost.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/launches/backend.h"

namespace soapstone::gpu {

/// The costs that are known, by signatures of launches and of conversions. Safe from several
/// threads.
class LayoutCosts {
 public:
  void note(const std::string& signature, double cost_us);
  std::optional<double> find(const std::string& signature) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, double> by_signature_;
};

/// See Backend::layout_ways: everything row-major, and images with channels last, where the launch
/// has any and a kernel for it can read them so.
std::vector<runtime::LaunchLayouts> layout_ways(const core::Graph& graph,
                                                const runtime::Launch& launch);

/// See Backend::arrange: the cheapest of all combinations, conversions included. Empty if not all
/// ways of all launches, and the conversions between them, are known.
std::vector<runtime::LaunchLayouts> arrange_by_cost(const core::Graph& graph,
                                                    std::span<const runtime::Launch> launches,
                                                    const LayoutCosts& costs);

}  // namespace soapstone::gpu
