// Transfers that share channels: max-min fair rates, as in D. Bertsekas and R. Gallager, "Data
// Networks", section 6.5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "parallel/topology/topology.h"

namespace soapstone::parallel {

class FairShare {
 public:
  explicit FairShare(std::span<const Path> channels) : channels_(channels) {}

  /// Times are microseconds and never go back.
  void start(std::uint32_t id, double bytes, std::span<const std::uint32_t> route, double now_us);
  /// The transfer that ends first, and when, if no other one starts before.
  struct Next {
    std::uint32_t id;
    double us;
  };
  std::optional<Next> next() const;
  /// Ends that transfer.
  void finish(std::uint32_t id, double now_us);

 private:
  struct Flow {
    std::uint32_t id;
    double bytes;
    std::span<const std::uint32_t> route;
    double bytes_per_us = 0;
  };
  void advance(double now_us);
  void share();

  std::span<const Path> channels_;
  std::vector<Flow> flows_;
  double now_us_ = 0;
};

}  // namespace soapstone::parallel
