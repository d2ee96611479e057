// Costs timed on the kernels that will run: warm up, rotate buffers that hold data, low quantile,
// spread recorded, suspicious samples repeated. Each distinct launch is timed once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cost/database/cost_database.h"
#include "cost/models/cost_model.h"
#include "cost/timing/timing.h"
#include "runtime/execution/executor.h"

namespace soapstone::cost {

/// `backend` must outlive the result; `database` may be null (nothing is kept).
std::unique_ptr<CostModel> make_measured_cost(runtime::Backend& backend, runtime::Fusion fusion,
                                              CostDatabase* database,
                                              const TimingOptions& options = {});

/// What is known of a device besides measurements, in microseconds. Called by one thread at a time.
struct DeviceEstimates {
  std::function<double(const core::Graph&, const runtime::Launch&)> launch_us;
  std::function<double(double bytes)> copy_us;  ///< To another layout: read and written.
};
/// The costs of a device that need not be present, from the database alone (null: nothing was
/// recorded). What is not in it is an estimate: that of `estimates`, or else a roofline through
/// what is in it, scaled as launches like it took that are in it (estimate_scale.h), and never
/// below the least time in it. `backend` plans the launches only: one of the kind that runs on that
/// device.
std::unique_ptr<CostModel> make_recorded_cost(runtime::Backend& backend, runtime::Fusion fusion,
                                              CostDatabase* database, std::string device,
                                              DeviceEstimates estimates = {});

struct Timing {
  double median_us = 0, low_us = 0, high_us = 0;  ///< low and high: 95 % interval of the median.
  int rounds = 0;                                 ///< 0: stopped before there were enough.
};
/// Times executables in turn (A B, B A, …), so that drift of the machine hits all alike. Stops
/// after `rounds` or when `max_total_us` is used up, with at least kFewestForInterval rounds; at
/// `stop` at once. Precondition: each has run() once. Errors: kUnavailable if the device fails.
core::Result<std::vector<Timing>> time_in_turn(std::span<runtime::Executable* const> executables,
                                               int rounds, double max_total_us,
                                               const core::StopToken& stop = {});

/// 95 % interval of the ratio a/b of the times of two, by paired rounds.
struct RatioInterval {
  double median = 1, low = 1, high = 1;
};
struct Comparison {
  Timing a, b;
  RatioInterval ratio;  ///< a over b: above 1, b is faster.
};
/// 1 in all cases if stopped before there were enough rounds.
core::Result<RatioInterval> compare_in_turn(runtime::Executable& a, runtime::Executable& b,
                                            int rounds, double max_total_us,
                                            const core::StopToken& stop = {});
/// The same with the times that the ratio comes from.
core::Result<Comparison> compare_and_time(runtime::Executable& a, runtime::Executable& b,
                                          int rounds, double max_total_us,
                                          const core::StopToken& stop = {});

}  // namespace soapstone::cost
