// See deployment.h.
#include "jobs/deployment/deployment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace soapstone::jobs {

core::Result<RuntimeRequest> parse_runtime_request(std::string_view text) {
  RuntimeRequest request;
  if (text == "auto") return request;
  request.kind = RuntimeRequest::Kind::kSoapstone;
  if (text == "soapstone") return request;
  request.kind = RuntimeRequest::Kind::kWorker;
  SOAPSTONE_ASSIGN_OR_RETURN(request.choice, workers::parse_runtime(text));
  return request;
}

std::string to_string(const RuntimeRequest& request) {
  using workers::RuntimeChoice;
  if (request.kind == RuntimeRequest::Kind::kAuto) return "auto";
  if (request.kind == RuntimeRequest::Kind::kSoapstone) return "soapstone";
  switch (request.choice.kind) {
  case RuntimeChoice::Kind::kOnnxRuntime:
    return "onnxruntime";
  case RuntimeChoice::Kind::kOpenVino:
    return "openvino";
  case RuntimeChoice::Kind::kCommand:
    return fmt::format("command:{}", fmt::join(request.choice.command, " "));
  }
  return "";
}

std::string Deployment::description() const {
  std::string text =
      fmt::format("{} {}, {} thread{}", worker.identity().name, worker.identity().version,
                  load.threads, load.threads == 1 ? "" : "s");
  if (!load.provider.empty()) text += ", " + load.provider;
  for (const auto& [name, value] : load.options) text += fmt::format(", {}={}", name, value);
  return text;
}

bool Deployment::is_on_processor() const {
  return load.provider.empty() || load.provider.starts_with("CPU");
}

std::string Deployment::key(std::string_view device) const {
  return fmt::format("{}{}{} on {}", program, program.empty() ? "" : ": ", description(), device);
}

core::Result<OpenedDeployment> open_deployment(const RuntimeRequest& request, int threads) {
  if (request.kind == RuntimeRequest::Kind::kSoapstone) return OpenedDeployment{};
  auto worker = workers::start_runtime_worker(request.choice);
  if (worker) {
    return OpenedDeployment{Deployment{*std::move(worker),
                                       {true, threads, request.provider, request.options},
                                       fmt::to_string(fmt::join(request.choice.command, " "))},
                            {}};
  }
  const bool is_wanted = request.is_wanted() || !request.choice.python.empty();
  if (is_wanted) return worker.error();
  return OpenedDeployment{std::nullopt, worker.error().message};
}

}  // namespace soapstone::jobs
