// See objective_options.h.
#include "cli/options/objective_options.h"

#include "jobs/base/usage_error.h"

namespace soapstone::cli {

using search::ObjectiveKind;

void add_objective_options(CommandLine& line, ObjectiveOptions& options) {
  line.add("--objective", options.objective,
           "latency: the fastest graph [default]; memory: the lowest peak of activation "
           "memory, then the fastest; latency-under-memory: the fastest within "
           "--peak-memory-limit")
      .type("KIND")
      .one_of({"latency", "memory", "latency-under-memory"});
  line.add("--peak-memory-limit", options.peak_limit_mib,
           "Most activation memory that the result may need at once, without weights and "
           "inputs; exit with 5 if that is not reached")
      .type("MIB")
      .between(1e-6, 1e9);
}

core::Result<ObjectiveKind> objective_of(const ObjectiveOptions& options) {
  const bool limited = options.peak_limit_mib > 0;
  if (options.objective.empty())
    return limited ? ObjectiveKind::kLatencyUnderMemory : ObjectiveKind::kLatency;
  const ObjectiveKind kind = *search::parse_objective(options.objective);
  if (limited == (kind == ObjectiveKind::kLatencyUnderMemory)) return kind;
  if (limited) {
    return jobs::usage_error("--objective " + options.objective + " has no limit",
                             "--objective latency-under-memory, or no --peak-memory-limit");
  }
  return jobs::usage_error("--objective latency-under-memory: under which limit?",
                           "--peak-memory-limit MIB");
}

std::size_t peak_limit_bytes(const ObjectiveOptions& options) {
  return static_cast<std::size_t>(options.peak_limit_mib * 1024 * 1024);
}

}  // namespace soapstone::cli
