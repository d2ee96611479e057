// Checks the parameters that a user gives a built-in network.
#include "models/layers/build_parameters.h"

#include <fmt/format.h>

#include <algorithm>

namespace soapstone::models {

core::Result<BuildParameters> BuildParameters::make(std::span<const ModelParameter> known,
                                                    const ParameterValues& given) {
  BuildParameters result;
  std::string names;
  for (const ModelParameter& parameter : known) {
    result.values_[parameter.name] = parameter.default_value;
    names += (names.empty() ? "" : ", ") + parameter.name;
  }
  for (const auto& [name, value] : given) {
    const auto at = std::find_if(known.begin(), known.end(), [&name = name](const auto& parameter) {
      return parameter.name == name;
    });
    if (at == known.end()) {
      return core::invalid_input(fmt::format("there is no parameter '{}'", name),
                                 fmt::format("the parameters are {}", names));
    }
    if (value < at->lowest || value > at->highest) {
      return core::invalid_input(fmt::format("the parameter {} = {} is not between {} and {}", name,
                                             value, at->lowest, at->highest));
    }
    result.values_[name] = value;
  }
  return result;
}

std::int64_t BuildParameters::operator[](std::string_view name) const {
  const auto found = values_.find(name);
  CHECK(found != values_.end(), "parameter that the network does not list");
  return found->second;
}

core::Status BuildParameters::require_multiple(std::string_view whole,
                                               std::string_view part) const {
  if ((*this)[whole] % (*this)[part] == 0) return core::Done{};
  return core::invalid_input(fmt::format("the parameter {} is not a multiple of {}", whole, part));
}

}  // namespace soapstone::models
