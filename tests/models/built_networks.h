// Built-in networks for tests, and what they compute.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/networks/builders.h"

namespace soapstone::models {

/// Throws, which fails the test, if there is no such network.
BuiltNetwork built(const std::string& name, const ParameterValues& parameters = {},
                   const NetworkOptions& options = {});

/// The outputs, in doubles. Inputs that are not given get numbers of their own: waves, and 0 and 1
/// in turn where they are integers.
using InputValues = std::map<core::TensorId, std::vector<double>>;
std::vector<std::vector<double>> evaluate(const core::Graph& graph, const InputValues& given = {});

}  // namespace soapstone::models
