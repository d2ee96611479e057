// See deployment.h.
#include "jobs/deployment/deployment.h"

#include <fmt/format.h>

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

std::string Deployment::description() const {
  return fmt::format("{} {}, {} thread{}", worker.identity().name, worker.identity().version,
                     load.threads, load.threads == 1 ? "" : "s");
}

std::string Deployment::key(std::string_view device) const {
  std::string key = fmt::format("{} on {}", description(), device);
  if (!load.provider.empty()) key += ", " + load.provider;
  for (const auto& [name, value] : load.options) key += fmt::format(", {}={}", name, value);
  return key;
}

core::Result<OpenedDeployment> open_deployment(const RuntimeRequest& request, int threads) {
  if (request.kind == RuntimeRequest::Kind::kSoapstone) return OpenedDeployment{};
  auto worker = workers::start_runtime_worker(request.choice);
  if (worker) {
    return OpenedDeployment{
        Deployment{*std::move(worker), {true, threads, request.provider, request.options}}, {}};
  }
  const bool is_wanted =
      request.kind == RuntimeRequest::Kind::kWorker || !request.choice.python.empty();
  if (is_wanted) return worker.error();
  return OpenedDeployment{std::nullopt, worker.error().message};
}

}  // namespace soapstone::jobs
