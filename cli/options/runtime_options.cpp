// See runtime_options.h.
#include "cli/options/runtime_options.h"

#include <fmt/format.h>

#include "jobs/base/usage_error.h"

namespace soapstone::cli {

void add_runtime_options(CommandLine& line, RuntimeOptions& options) {
  line.add(
          "--runtime", options.runtime,
          "What times: onnxruntime, openvino, soapstone (our own executor), command:PROGRAM; auto: "
          "onnxruntime, else soapstone")
      .type("RUNTIME")
      .shows_default();
  line.add("--provider", options.provider,
           "Execution provider or device of the runtime, by its own name [the CPU]")
      .type("NAME");
  line.add("--runtime-option", options.options,
           "Option of the runtime, by its own name; may be repeated")
      .type("NAME=VALUE")
      .one_each();
}

core::Result<jobs::RuntimeRequest> runtime_of(const RuntimeOptions& options,
                                              const std::string& python) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto request, jobs::parse_runtime_request(options.runtime));
  request.choice.python = python;
  request.provider = options.provider;
  for (const std::string& option : options.options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return jobs::usage_error(
          fmt::format("--runtime-option {}: not of the form NAME=VALUE", option),
          "--runtime-option session.intra_op.allow_spinning=0");
    }
    request.options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  if (request.kind == jobs::RuntimeRequest::Kind::kSoapstone && request.is_wanted()) {
    return jobs::usage_error("--provider and --runtime-option are for other runtimes",
                             "leave them out, or name the runtime with --runtime");
  }
  return request;
}

core::Result<jobs::RuntimeRequest>
runtime_of(const CommandLine& line, const RuntimeOptions& options, const std::string& python) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto request, runtime_of(options, python));
  for (const char* const ours : {"--device", "--fusion", "--precision"}) {
    if (!line.was_given(ours)) continue;
    using Kind = jobs::RuntimeRequest::Kind;
    if (request.kind == Kind::kWorker) {
      return jobs::usage_error(fmt::format("{} says how our own executor runs", ours),
                               "leave it out, or set --runtime to soapstone");
    }
    request.kind = Kind::kSoapstone;
  }
  return request;
}

void add_python_option(CommandLine& line, std::string& python) {
  line.add("--python", python,
           "Python that has the runtime [$SOAPSTONE_PYTHON, that of the build, python3]")
      .type("FILE");
}

}  // namespace soapstone::cli
