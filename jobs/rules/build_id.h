// Which build of the program is running.
#pragma once

#include <string>

namespace soapstone::jobs {

/// The identifier that the linker gave to the running program, in hexadecimal digits; another one
/// for every change of its code. Empty: it has none.
std::string build_id();

}  // namespace soapstone::jobs
