// See edit.h.
#include "rules/expansion/edit.h"

#include <algorithm>
#include <charconv>

namespace soapstone::rules {

std::string edited(std::string_view text, const std::vector<Edit>& edits) {
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : edits) {
    out += text.substr(at, edit.begin - at);
    out += edit.text;
    const auto removed = text.substr(edit.begin, edit.end - edit.begin);
    out += std::string(static_cast<std::size_t>(std::ranges::count(removed, '\n')), '\n');
    at = edit.end;
  }
  return out += text.substr(at);
}

std::optional<int> small_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string list_text(const std::vector<int>& values) {
  std::string text = "[";
  for (int value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

bool is_punctuation(const core::Token& token, std::string_view text) {
  return token.kind == core::TokenKind::kPunctuation && token.text == text;
}

}  // namespace soapstone::rules
