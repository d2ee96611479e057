// Z3 behind the interface of solver questions. One context each, so each thread makes its own.
#pragma once

#include <memory>
#include <string>

#include "verifier/oracle.h"

namespace soapstone::verifier {

/// A question that takes longer than `timeout_ms` counts as not proved.
std::unique_ptr<Solver> make_z3_solver(unsigned timeout_ms = 3000);
/// `4.8.12`
std::string z3_version();

}  // namespace soapstone::verifier
