// SHA-256: a name for a text that nobody can give to another one. For hash tables there is hash.h,
// which is faster and promises nothing of the kind.
#pragma once

#include <string>
#include <string_view>

namespace soapstone::core {

/// The digest of the bytes, as 64 hexadecimal digits.
/// Source: FIPS 180-4, section 6.2.
std::string sha256(std::string_view bytes);

}  // namespace soapstone::core
