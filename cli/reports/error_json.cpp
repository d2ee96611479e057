// See error_json.h and json_text.h.
#include "cli/reports/error_json.h"

#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"

namespace soapstone::cli {

std::string json_text(const nlohmann::ordered_json& json) {
  using Handler = nlohmann::ordered_json::error_handler_t;
  return json.dump(2, ' ', false, Handler::replace) + "\n";
}

std::string error_json(const core::Error& error) {
  const nlohmann::ordered_json details = {{"code", static_cast<int>(error.code)},
                                          {"where", error.where},
                                          {"message", error.message},
                                          {"hint", error.hint}};
  return json_text({{"error", details}});
}

}  // namespace soapstone::cli
