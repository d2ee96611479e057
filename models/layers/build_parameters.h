// The parameters of one built-in network, checked. Private to the builders.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "models/layers/model_builder.h"

namespace soapstone::models {

/// The parameters of one build, complete and in range.
class BuildParameters {
 public:
  /// Errors: kInvalidInput for unknown names and values out of range.
  static core::Result<BuildParameters> make(std::span<const ModelParameter> known,
                                            const ParameterValues& given);
  /// Precondition: the network has that parameter.
  std::int64_t operator[](std::string_view name) const;
  /// Errors: kInvalidInput if the parameter `whole` is not a multiple of the parameter `part`.
  core::Status require_multiple(std::string_view whole, std::string_view part) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> values_;
};

}  // namespace soapstone::models
