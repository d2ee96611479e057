// See compute_rates.h.
#include "jobs/links/compute_rates.h"

#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "cost/models/calibration.h"
#include "jobs/devices/devices.h"
#include "jobs/links/rank_clock.h"
#include "runtime/execution/executor.h"

namespace soapstone::jobs {
namespace {

constexpr std::size_t kStreamElements = std::size_t{16} << 20;

/// Work, and how much of it a call does.
struct Work {
  std::function<core::Status()> run;
  double amount = 0;
};

core::Result<double> rate_of(const Work& work, double seconds) {
  SOAPSTONE_RETURN_IF_ERROR(work.run());  // the first one is slower
  const double begin = core::wall_s();
  double calls = 0, passed = 0;
  while (passed < seconds) {
    SOAPSTONE_RETURN_IF_ERROR(work.run());
    ++calls;
    passed = core::wall_s() - begin;
  }
  return calls * work.amount / passed;
}

/// The first rank works while the others sleep, and then all do.
core::Result<ComputeRate> rate_beside(const Work& work, runtime::Collectives& ranks,
                                      double seconds) {
  ComputeRate rate;
  SOAPSTONE_RETURN_IF_ERROR(wait_for_all(ranks));
  if (ranks.rank() == 0) {
    SOAPSTONE_ASSIGN_OR_RETURN(rate.alone, rate_of(work, seconds));
  } else {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  SOAPSTONE_RETURN_IF_ERROR(wait_for_all(ranks));
  SOAPSTONE_ASSIGN_OR_RETURN(rate.together, rate_of(work, seconds));
  std::vector<double> both{rate.alone, rate.together};
  SOAPSTONE_RETURN_IF_ERROR(join_values(ranks, both, runtime::Reduction::kSum));
  return ComputeRate{both[0], both[1] / ranks.size()};
}

}  // namespace

core::Result<ComputeBeside> measure_compute(runtime::Collectives& ranks, double seconds) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto backend, make_backend({}));
  const cost::LargeProduct product = cost::large_product();
  SOAPSTONE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::make(product.graph, *backend));
  const auto inputs = runtime::random_inputs(product.graph, 1);
  SOAPSTONE_RETURN_IF_ERROR(executable.run(inputs));
  const Work multiplying{[&] { return executable.run_again(); }, product.flops};
  ComputeBeside result;
  SOAPSTONE_ASSIGN_OR_RETURN(result.flops_per_s, rate_beside(multiplying, ranks, seconds));

  std::vector<float> values(kStreamElements, 1);
  const Work streaming{[&]() -> core::Status {
                         for (float& value : values) value += 1;
                         return core::Done{};
                       },
                       2.0 * sizeof(float) * kStreamElements};
  SOAPSTONE_ASSIGN_OR_RETURN(result.bytes_per_s, rate_beside(streaming, ranks, seconds));
  return result;
}

}  // namespace soapstone::jobs
