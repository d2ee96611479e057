// A launch from its signature: what the cost database keeps of a launch is enough to make it again.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "runtime/launches/execution_plan.h"

namespace soapstone::runtime {

/// A launch by itself, in a graph of its own.
struct SignedLaunch {
  core::Graph graph;
  Launch launch;  ///< Of any shape: what stood in an epilogue stands among the others.
  LaunchLayouts layouts;
};

/// The launch that launch_signature() named so. A constant of several elements, whose values the
/// signature leaves out, is an input. Errors: kInvalidInput for a text that is no signature of a
/// launch (those of conversions are none) or names an operator that nobody knows.
core::Result<SignedLaunch> read_launch_signature(std::string_view signature);

}  // namespace soapstone::runtime
