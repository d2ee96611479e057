// The runtime in which a model will be deployed: it is where results are timed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "workers/runtimes.h"

namespace soapstone::jobs {

struct RuntimeRequest {
  enum class Kind {
    kAuto,       ///< ONNX Runtime if it is there and can run the model, else our executor.
    kSoapstone,  ///< Our executor.
    kWorker,     ///< `choice`, in a process of its own.
  };
  Kind kind = Kind::kAuto;
  workers::RuntimeChoice choice;  ///< Its `python` counts for kAuto, too.
  std::string provider;           ///< Empty: the runtime's default on the CPU.
  /// Options of the runtime, by its own names and in its own words.
  std::vector<std::pair<std::string, std::string>> options;

  /// Whether our executor in its place would not be what the caller asks for.
  bool is_wanted() const { return kind == Kind::kWorker || !provider.empty() || !options.empty(); }
};
/// `auto`, `soapstone`, or as workers::parse_runtime. Errors: kUsage.
core::Result<RuntimeRequest> parse_runtime_request(std::string_view text);

/// The text that parse_runtime_request() reads; without Python, provider and options.
std::string to_string(const RuntimeRequest& request);

/// A runtime that runs, and how models are loaded there.
struct Deployment {
  workers::RuntimeWorker worker;
  workers::LoadOptions load;
  std::string program = {};  ///< The command line of a program of the user's own, else empty.

  /// "ONNX Runtime 1.31.1, 1 thread", with the provider and the options if any were named.
  std::string description() const;
  /// Whether models run on the processors of this machine, as far as the provider's name tells.
  bool is_on_processor() const;
  /// The key of what is measured there on the device with that key: everything that it depends on.
  std::string key(std::string_view device) const;
};

/// None: our executor is meant, or nothing else is there and `kAuto` allows for that; `why_not`
/// says so. Errors: kUnavailable: a runtime that was named is not installed or does not work.
struct OpenedDeployment {
  std::optional<Deployment> deployment;
  std::string why_not;
};
core::Result<OpenedDeployment> open_deployment(const RuntimeRequest& request, int threads);

}  // namespace soapstone::jobs
