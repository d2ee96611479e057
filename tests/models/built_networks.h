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

using Numbers = std::vector<double>;

/// The input of that name. Throws if there is none.
core::TensorId named(const core::Graph& graph, const std::string& name);
core::Dims dims_of(const core::Graph& graph, const std::string& name);
/// Small numbers for all weights, the same for the same name and count.
InputValues weights_for(const BuiltNetwork& network);
/// Up to 1e-9.
void expect_near(const Numbers& a, const Numbers& b);

}  // namespace soapstone::models
