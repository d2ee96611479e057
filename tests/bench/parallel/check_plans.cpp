// Checks a plan that plan-graph wrote, as `plan-graph --check` does, without planning it again:
// prints how long each part of the check takes and how much memory it needs.
//
//   check-plans PLAN MODEL [batch=N] [key=number]...
#include <charconv>
#include <string>
#include <string_view>

#include <sys/resource.h>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "core/base/file_io.h"
#include "jobs/run/check_plan.h"

namespace soapstone {
namespace {

/// Prints the CPU time of each stage as the next one begins.
class StageTimes : public core::ProgressSink {
 public:
  ~StageTimes() override { end(); }
  void stage(std::string_view name) override {
    end();
    name_ = name;
    begin_ = core::process_cpu_s();
  }
  void update(std::uint64_t, std::uint64_t, std::string_view) override {}
  void log(core::LogLevel, std::string_view message) override { fmt::print("{}\n", message); }

 private:
  void end() const {
    if (!name_.empty()) fmt::print("{:8.2f} CPU s  {}\n", core::process_cpu_s() - begin_, name_);
  }
  std::string name_;
  double begin_ = 0;
};

core::Status run(int argc, char** argv) {
  if (argc < 3) return core::invalid_input("check-plans PLAN MODEL [batch=N] [key=number]...");
  jobs::PlannedModelRequest request;
  request.model = argv[2];
  for (int k = 3; k < argc; ++k) {
    const std::string_view setting = argv[k];
    const std::size_t at = setting.find('=');
    std::int64_t number = 0;
    if (at != std::string_view::npos)
      std::from_chars(setting.data() + at + 1, setting.data() + setting.size(), number);
    if (setting.substr(0, at) == "batch")
      request.batch = number;
    else
      request.set[std::string(setting.substr(0, at))] = number;
  }
  StageTimes times;
  const jobs::Context context{times, jobs::never(), {}};
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(argv[1]));
  SOAPSTONE_ASSIGN_OR_RETURN(const parallel::PlanDocument plan, parallel::plan_from_json(text));
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::MarkedModel model,
                             jobs::load_planned_model(request, context));
  const jobs::MarkedModel planned = plan.is_training ? jobs::with_loss(model, context) : model;
  SOAPSTONE_RETURN_IF_ERROR(parallel::check_belongs(plan, planned.graph, planned.is_weight));
  const double begin = core::process_cpu_s();
  SOAPSTONE_ASSIGN_OR_RETURN(const jobs::PlanCheck check,
                             jobs::check_plan(model, request, plan, context));
  times.stage("");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr double kKilobytesPerGigabyte = 1e6;
  fmt::print("{:8.2f} CPU s in all, {:.2f} GB; {} steps of {} ranks, {} operators left "
             "out{}{}{}{}{}{}\n",
             core::process_cpu_s() - begin,
             static_cast<double>(usage.ru_maxrss) / kKilobytesPerGigabyte, check.steps, check.ranks,
             check.left_out, check.why_not.empty() ? "" : "; not checked: ", check.why_not,
             check.small_sizes.empty() ? "" : "; computed at ", check.small_sizes,
             check.why_not_computed.empty() ? "" : "; not computed: ", check.why_not_computed);
  return core::Done{};
}

}  // namespace
}  // namespace soapstone

int main(int argc, char** argv) {
  const auto status = soapstone::run(argc, argv);
  if (status) return 0;
  fmt::print(stderr, "{}\n", status.error().to_string());
  return 1;
}
