// See device_options.h.
#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_device_options(CommandLine& line, jobs::DeviceRequest& request) {
  line.add_word("--device",
                "Device to run on: cpu, reference (slow, exact), cuda or cuda:N (of NVIDIA)", "cpu",
                [&request](const std::string& name) { (void)jobs::take_device(name, request); })
      .type("NAME")
      .shows_default()
      .check([](const std::string& name) {
        jobs::DeviceRequest ignored;
        const core::Status taken = jobs::take_device(name, ignored);
        return taken ? std::string() : taken.error().to_string();
      });
  line.add("--threads", request.threads, "Threads that a kernel may use")
      .type("N")
      .between(1, 1024)
      .shows_default();
}

void add_fusion_option(CommandLine& line, runtime::Fusion& fusion) {
  using runtime::Fusion;
  line.add_choice<Fusion>(
          "--fusion", fusion,
          {{"none", Fusion::kNone},
           {"activation", Fusion::kActivation},
           {"full", Fusion::kFull},
           {"generated", Fusion::kGenerated}},
          "What a kernel takes in behind a convolution or matmul: none, activation, full; "
          "generated: other chains, too, as compiled loops")
      .type("LEVEL")
      .shows_default();
}

void add_precision_option(CommandLine& line, jobs::Precision& precision) {
  using jobs::Precision;
  line.add_choice<Precision>(
          "--precision", precision,
          {{"f32", Precision::kFloat32},
           {"tf32", Precision::kTensorFloat32},
           {"bf16", Precision::kBFloat16},
           {"int8", Precision::kInt8}},
          "bf16, int8 (CPU), tf32 (GPU): our executor's products round their factors where that "
          "is measured to be faster")
      .type("TYPE")
      .shows_default();
}

void add_cost_db_option(CommandLine& line, jobs::DeviceRequest& request) {
  line.add("--cost-db", request.costs,
           "Database of measured costs; none keeps nothing [" +
               cost::CostDatabase::default_path().string() + "]")
      .type("FILE");
}

void add_timing_device_options(CommandLine& line, jobs::DeviceRequest& request) {
  add_device_options(line, request);
  add_fusion_option(line, request.fusion);
  add_cost_db_option(line, request);
}

void add_timing_options(CommandLine& line, int& rounds, const std::string& what, double& time_s,
                        const std::string& time_option, const std::string& each) {
  line.add("--rounds", rounds, "Most times that " + what + " is timed")
      .type("N")
      .between(1, 1'000'000)
      .shows_default();
  line.add(time_option, time_s, "Seconds to spend on timing" + each)
      .type("S")
      .not_negative()
      .shows_default();
}

void add_judge_options(CommandLine& line, jobs::JudgeRequest& request) {
  using jobs::JudgeKind;
  line.add_choice<JudgeKind>(
          "--judge", request.judge,
          {{"auto", JudgeKind::kAuto},
           {"onnxruntime", JudgeKind::kOnnxRuntime},
           {"none", JudgeKind::kNone}},
          "Who else runs both files and compares: onnxruntime; auto: that, if it is there; none")
      .type("RUNTIME")
      .shows_default();
  line.add("--python", request.python,
           "Python that has onnxruntime [$SOAPSTONE_PYTHON, else python3]")
      .type("FILE");
}

}  // namespace soapstone::cli
