// The words of the text language, and how names and numbers are written so that they are read back
// the same. Line ends mean nothing to the grammar, but every token knows its line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::core {

enum class TokenKind : std::uint8_t {
  kEnd,
  kIdentifier,   ///< `conv`, `x_1`
  kString,       ///< `"…"`; text holds what it stands for
  kSymbol,       ///< `$"…"`: a size symbol whose name is no identifier
  kNumber,       ///< `12`, `0.5`, `1e-3`, `0x9a`
  kPunctuation,  ///< one character
  kInvalid,      ///< text holds the complaint
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t offset = 0;  ///< Offset of its first byte in the source.
  int line = 1;
  int column = 1;  ///< In bytes, from 1.
};

/// The text without the blanks at both ends.
std::string_view trimmed(std::string_view text);

/// All tokens of the text; the last one is kEnd.
std::vector<Token> tokenize(std::string_view text);

/// A cursor over the tokens of a text. Characters that cannot be read become a kInvalid token,
/// which is an error only if a parser gets there.
class TokenStream {
 public:
  explicit TokenStream(std::string text);

  /// The token `ahead` places on; kEnd from the end on.
  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  /// Whether the next token is this punctuation or this bare word.
  bool at(std::string_view word) const;
  bool accept(std::string_view word);
  /// Errors: kInvalidInput, "expected …, found …".
  Status expect(std::string_view word);
  /// A tensor or graph name: an identifier other than `_`, or a quoted text.
  bool at_name() const;
  Result<std::string> expect_name(std::string_view what);
  /// The source from the next token to the end of its line, less a comment; skips those tokens.
  std::string rest_of_line();
  /// Whether the next token stands on the same line as the one before it.
  bool on_same_line() const;

  /// kInvalidInput at the next token, or at another one.
  Error error(const std::string& message) const { return error_at(peek(), message); }
  static Error error_at(const Token& token, const std::string& message);
  /// `line:column`.
  static std::string where(const Token& token);
  /// "expected `what`, found …" at the next token.
  Error expected(std::string_view what) const;

 private:
  std::string text_;
  std::vector<Token> tokens_;  // the last one is kEnd
  std::size_t position_ = 0;
};

bool is_identifier(std::string_view text);
/// `"text"`, escaped.
std::string quote(std::string_view text);
/// Writes a tensor's or graph's name: bare if it may be, quoted otherwise.
std::string quote_name(std::string_view name);
/// Writes a symbol of a size: bare if it may be, `$"…"` otherwise.
std::string quote_symbol(std::string_view name);
/// The shortest text that is read back as the same number, never mistaken for an integer.
std::string real_text(double value);

}  // namespace soapstone::core
