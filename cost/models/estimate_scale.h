// How long measured launches of a device took beside their estimates: by that much the estimates of
// launches like them are scaled. An estimate that is too low would win against every measurement,
// and make a search choose what nobody has measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cost/database/cost_database.h"
#include "cost/models/roofline.h"
#include "runtime/launches/signature_reader.h"

namespace soapstone::cost {

/// By one thread at a time.
class EstimateScale {
 public:
  using Estimate = std::function<double(const core::Graph&, const runtime::Launch&)>;
  /// `known`: all that is measured of the device. Depends on nothing else, so that costs do not
  /// depend on the order in which they are asked for.
  EstimateScale(std::vector<CostDatabase::Entry> known, Estimate estimate_us);

  struct Scale {
    double factor = 1;
    std::size_t launches = 0;  ///< As many measured ones it comes from.
  };
  /// The median of measured over estimated times of the three nearest launches, by the logarithms
  /// of operations and bytes: of those of the same kind if there are any, else of all. Of a kind
  /// are launches in which the same operator does most of the work, on the same type of elements.
  Scale scale_for(const core::Graph& graph, const runtime::Launch& launch);
  /// Of what is no launch: copies are of no kind.
  Scale scale_for(const LaunchWork& work) { return scale_near({}, work); }
  /// The least time that was measured of anything; 0: nothing was.
  double least_us() const { return least_us_; }

 private:
  struct Known {
    runtime::SignedLaunch launch;
    std::string kind;
    LaunchWork work;
    double measured_us = 0;
    std::optional<double> ratio;  ///< Once somebody needs it: estimates take a while.
  };
  Scale scale_near(const std::string& kind, const LaunchWork& work);
  double ratio_of(Known& known);

  std::vector<Known> known_;
  Estimate estimate_us_;
  double least_us_ = 0;
};

}  // namespace soapstone::cost
