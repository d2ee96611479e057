// Splits text into tokens.
#include "core/syntax/lexer.h"

#include <algorithm>

#include "core/syntax/characters.h"

namespace soapstone::core {
namespace {

using namespace characters;

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 3);  // as most texts have, so that they are moved seldom
    do {
      skip_blanks();
      tokens.push_back(scan());
    } while (tokens.back().kind != TokenKind::kEnd);
    return tokens;
  }

 private:
  char at(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at() == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (!is_blank(at())) {
        return;
      }
    }
  }

  Token scan() {
    Token token;
    token.offset = at_;
    token.line = line_;
    token.column = static_cast<int>(at_ - line_start_) + 1;
    if (at_ >= text_.size()) return token;
    const char c = at();
    if (is_letter(c)) {
      take_while(token, TokenKind::kIdentifier, is_word);
    } else if (is_digit(c)) {
      scan_number(token);
    } else if (c == '"' || (c == '$' && at(1) == '"')) {
      token.kind = c == '"' ? TokenKind::kString : TokenKind::kSymbol;
      at_ += c == '"' ? 1 : 2;
      scan_quoted(token);
    } else if (std::string_view("()[]{},;:=*+-@?<>/.!|&").find(c) != std::string_view::npos) {
      token.kind = TokenKind::kPunctuation;
      token.text = c;
      ++at_;
    } else {
      scan_strange(token);
    }
    return token;
  }

  template <class Predicate>
  void take_while(Token& token, TokenKind kind, Predicate belongs) {
    token.kind = kind;
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    token.text = text_.substr(begin, at_ - begin);
  }

  void scan_number(Token& token) {
    const bool hex = at() == '0' && at(1) == 'x';
    char before = '\0';
    take_while(token, TokenKind::kNumber, [&](char c) {
      const bool exponent_sign = !hex && (c == '+' || c == '-') && (before == 'e' || before == 'E');
      before = c;
      return is_word(c) || c == '.' || exponent_sign;
    });
  }

  void scan_quoted(Token& token) {
    for (; at_ < text_.size() && at() != '\n'; ++at_) {
      if (at() == '"') {
        ++at_;
        return;
      }
      if (at() != '\\') {
        token.text += at();
      } else if (!scan_escape(token)) {
        token.kind = TokenKind::kInvalid;
        token.text = "unknown escape in a quoted text; known are \\\" \\\\ \\n \\t \\xHH";
        return;
      }
    }
    token.kind = TokenKind::kInvalid;
    token.text = "quoted text does not end on its line";
  }

  bool scan_escape(Token& token) {
    const char c = at(1);
    ++at_;
    if (c == '"' || c == '\\') {
      token.text += c;
    } else if (c == 'n') {
      token.text += '\n';
    } else if (c == 't') {
      token.text += '\t';
    } else if (c == 'x' && hex_digit(at(1)) >= 0 && hex_digit(at(2)) >= 0) {
      token.text += static_cast<char>(hex_digit(at(1)) * 16 + hex_digit(at(2)));
      at_ += 2;
    } else {
      return false;
    }
    return true;
  }

  void scan_strange(Token& token) {
    const auto strange = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
    std::string word(1, at());
    while (strange(at()) && strange(at(1))) word += text_[++at_];  // a whole UTF-8 character
    ++at_;
    token.kind = TokenKind::kInvalid;
    token.text = "unexpected character " + quote(word);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<Token> tokenize(std::string_view text) { return Scanner(text).run(); }

}  // namespace soapstone::core
