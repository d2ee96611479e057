// Replacing parts of a text, and the small pieces of reading that this goes with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/syntax/lexer.h"

namespace soapstone::rules {

/// A part of the text and what stands there instead.
struct Edit {
  std::size_t begin, end;
  std::string text;
};
/// The text with all edits, which ascend. Line ends stay, for the sake of line numbers.
std::string edited(std::string_view text, const std::vector<Edit>& edits);

/// The number that the whole text is.
std::optional<int> small_number(std::string_view text);
/// `[0, 2, 1]`
std::string list_text(const std::vector<int>& values);
bool is_punctuation(const core::Token& token, std::string_view text);

}  // namespace soapstone::rules
