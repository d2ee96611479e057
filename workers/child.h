// Starting a program with its standard streams in our hands.
#pragma once

#include <string>
#include <vector>

#include "workers/worker_process.h"

namespace soapstone::workers {

struct Child {
  pid_t id = -1;
  Descriptor input, output, errors;  ///< We write to the first and read the others.
};

/// The program is looked up in PATH if its name has no slash. Errors: kUnavailable.
core::Result<Child> start_child(const std::vector<std::string>& command);

}  // namespace soapstone::workers
