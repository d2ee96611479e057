// See device_options.h.
#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_device_options(CommandLine& line, jobs::DeviceRequest& request) {
  line.add("--device", request.device, "Device to run on: cpu, or reference (slow, exact)")
      .type("NAME")
      .one_of({"cpu", "reference"})
      .shows_default();
  line.add("--threads", request.threads, "Threads that a kernel may use")
      .type("N")
      .between(1, 1024)
      .shows_default();
}

void add_fusion_option(CommandLine& line, runtime::Fusion& fusion) {
  using runtime::Fusion;
  line.add_choice<Fusion>(
          "--fusion", fusion,
          {{"none", Fusion::kNone}, {"activation", Fusion::kActivation}, {"full", Fusion::kFull}},
          "What one kernel may take in behind a convolution or matmul: none, "
          "activation, full")
      .type("LEVEL")
      .shows_default();
}

void add_cost_db_option(CommandLine& line, jobs::DeviceRequest& request) {
  line.add("--cost-db", request.costs,
           "Database of measured costs; none keeps nothing [" +
               cost::CostDatabase::default_path().string() + "]")
      .type("FILE");
}

void add_judge_options(CommandLine& line, jobs::JudgeRequest& request) {
  line.add("--judge", request.judge,
           "Who else runs both files and compares: onnxruntime; auto: that, if it is there; none")
      .type("RUNTIME")
      .one_of({"auto", "onnxruntime", "none"})
      .shows_default();
  line.add("--python", request.python,
           "Python that has onnxruntime [$SOAPSTONE_PYTHON, else python3]")
      .type("FILE");
}

}  // namespace soapstone::cli
