// Classes of characters of the text language. Independent of the locale, unlike <cctype>.
// Private to core/.
#pragma once

namespace soapstone::core::characters {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c); }

}  // namespace soapstone::core::characters
