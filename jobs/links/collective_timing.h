// Times of messages and collective operations over sizes that double.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "jobs/base/context.h"
#include "parallel/topology/measured_collectives.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::jobs {

constexpr std::uint64_t kLeastBytes = 8;

struct MessageTimes {
  double least_us = 0;     ///< Of 8 bytes, one way.
  double bytes_per_s = 0;  ///< Of the largest message.
  parallel::MeasuredCollective measured;
};

class CollectiveTiming {
 public:
  /// `seconds`: for each call of the functions below, roughly. All ranks make the same calls.
  CollectiveTiming(runtime::Collectives& ranks, std::uint64_t largest_bytes, const Context& context,
                   double seconds);

  /// While all other ranks are idle. Errors: kInterrupted, kUnavailable.
  core::Result<MessageTimes> messages(int from, int to);
  /// Each collective operation in groups of `size` neighbors, all at work at the same time.
  core::Result<std::vector<parallel::MeasuredCollective>> groups(int size);

 private:
  using Call = std::function<core::Status(std::uint64_t bytes)>;
  core::Result<std::vector<std::pair<double, double>>> times_of(const Call& call, double seconds);

  runtime::Collectives& ranks_;
  std::vector<std::uint64_t> sizes_;
  const Context& context_;
  double seconds_;
  std::vector<float> from_, to_;  ///< Of the largest size.
};

}  // namespace soapstone::jobs
