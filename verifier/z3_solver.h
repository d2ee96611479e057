// Z3 behind the interface of solver questions. One context each, so each thread makes its own.
#pragma once

#include <memory>
#include <string>

#include "verifier/oracle.h"

namespace soapstone::verifier {

/// A question that takes more than that many of Z3's steps counts as not proved: steps, not
/// seconds, so that the answer does not depend on the machine.
std::unique_ptr<Solver> make_z3_solver(unsigned most_steps = 3'000'000);
/// `4.8.12`
std::string z3_version();

}  // namespace soapstone::verifier
