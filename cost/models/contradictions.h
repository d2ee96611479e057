// Times that contradict each other. What else happens on a machine makes a launch slower and never
// faster, so of two times that cannot both be right the longer one is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/database/cost_database.h"

namespace soapstone::cost {

/// Remembers times of launches and conversions by their signatures. By one thread at a time.
class KnownTimes {
 public:
  /// `known`: all that is measured of the device.
  explicit KnownTimes(const std::vector<CostDatabase::Entry>& known);
  /// Replaces what was known.
  void note(std::string_view signature, double cost_us);

  std::optional<double> find(std::string_view signature) const;
  /// The least time of the same operators on tensors of which no size is smaller and one is larger;
  /// sizes of 1, along which elements are repeated, are the same. None: none is known.
  std::optional<double> least_of_larger(std::string_view signature) const;

 private:
  using Sizes = std::vector<std::int64_t>;
  /// By the signature without its sizes.
  std::map<std::string, std::map<Sizes, double>, std::less<>> kinds_;
};

}  // namespace soapstone::cost
