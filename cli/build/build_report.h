// The report of build-model: text for people, JSON for machines.
#pragma once

#include <cstddef>
#include <string>

namespace soapstone::cli {

struct BuiltModel {
  std::string path, name;
  double parameters = 0;  ///< Elements of all weights, at the sizes that were asked for.
  std::size_t nodes = 0;
  int opset = 0;
};

std::string built_text(const BuiltModel& built);
std::string built_json(const BuiltModel& built);

/// All built-in networks with their parameters.
std::string builders_text();
std::string builders_json();

}  // namespace soapstone::cli
