// See messages.h.
#include <nlohmann/json.hpp>

#include "workers/messages.h"

namespace soapstone::workers {
namespace {

using nlohmann::json;

core::Result<std::string> line_of(const json& message) {
  try {
    return message.dump();
  } catch (const json::exception&) {
    return core::unsupported("a name in the model, an option or a path is not UTF-8");
  }
}

core::Result<std::string> inputs_request(std::int64_t id, const char* verb,
                                         const ModelInputs& inputs) {
  json tensors = json::array();
  for (const TensorFile& input : inputs.inputs) {
    tensors.push_back({{"name", input.name},
                       {"type", core::to_string(input.type)},
                       {"dims", input.dims},
                       {"file", input.file}});
  }
  return line_of({{"id", id},
                  {"verb", verb},
                  {"model", inputs.model},
                  {"folder", inputs.folder.string()},
                  {"inputs", std::move(tensors)}});
}

}  // namespace

std::string hello_request(std::int64_t id) {
  return json{{"id", id}, {"verb", "hello"}, {"protocol", kProtocol}}.dump();
}

core::Result<std::string> load_request(std::int64_t id, const std::filesystem::path& path,
                                       const LoadOptions& options) {
  json pairs = json::array();
  for (const auto& [name, value] : options.options) pairs.push_back(json::array({name, value}));
  return line_of({{"id", id},
                  {"verb", "load"},
                  {"path", path.string()},
                  {"optimizations", options.optimizations},
                  {"threads", options.threads},
                  {"provider", options.provider},
                  {"options", std::move(pairs)}});
}

core::Result<std::string> run_request(std::int64_t id, const ModelInputs& inputs) {
  return inputs_request(id, "run", inputs);
}

core::Result<std::string> prepare_request(std::int64_t id, const ModelInputs& inputs) {
  return inputs_request(id, "prepare", inputs);
}

std::string time_request(std::int64_t id, std::span<const std::int64_t> models, std::size_t rounds,
                         double budget_us) {
  return json{{"id", id},
              {"verb", "time"},
              {"models", std::vector<std::int64_t>(models.begin(), models.end())},
              {"rounds", rounds},
              {"budget_us", budget_us}}
      .dump();
}

core::Result<std::string> profile_request(std::int64_t id, std::int64_t model, int runs,
                                          const std::filesystem::path& folder) {
  return line_of({{"id", id},
                  {"verb", "profile"},
                  {"model", model},
                  {"runs", runs},
                  {"folder", folder.string()}});
}

std::string close_request(std::int64_t id, std::int64_t model) {
  return json{{"id", id}, {"verb", "close"}, {"model", model}}.dump();
}

}  // namespace soapstone::workers
