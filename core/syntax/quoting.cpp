// Writes words such that the lexer gives them back.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/syntax/characters.h"
#include "core/syntax/lexer.h"

namespace soapstone::core {

using namespace characters;

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word);
}

std::string quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte / 16], kHex[byte % 16]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string quote_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kReserved = {"_", "return", "graph", "symbols"};
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
  return is_identifier(name) && !reserved ? std::string(name) : quote(name);
}

std::string quote_symbol(std::string_view name) {
  const bool reserved = name == "inf" || name == "nan";
  return is_identifier(name) && !reserved ? std::string(name) : "$" + quote(name);
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace soapstone::core
