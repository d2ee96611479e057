// The cursor over tokens, and how it complains.
#include <algorithm>

#include "core/syntax/characters.h"
#include "core/syntax/lexer.h"

namespace soapstone::core {
namespace {

std::string describe(const Token& token) {
  switch (token.kind) {
  case TokenKind::kEnd:
    return "the end of the text";
  case TokenKind::kString:
    return quote(token.text);
  case TokenKind::kSymbol:
    return "$" + quote(token.text);
  default:
    return "`" + token.text + "`";
  }
}

}  // namespace

TokenStream::TokenStream(std::string text) : text_(std::move(text)) { tokens_ = tokenize(text_); }

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  Token token = peek();
  if (token.kind != TokenKind::kEnd) ++position_;
  return token;
}

bool TokenStream::at(std::string_view word) const {
  const Token& token = peek();
  return (token.kind == TokenKind::kIdentifier || token.kind == TokenKind::kPunctuation) &&
         token.text == word;
}

bool TokenStream::accept(std::string_view word) {
  if (!at(word)) return false;
  ++position_;
  return true;
}

Status TokenStream::expect(std::string_view word) {
  if (accept(word)) return Done{};
  return expected("`" + std::string(word) + "`");
}

bool TokenStream::at_name() const {
  const Token& token = peek();
  return token.kind == TokenKind::kString ||
         (token.kind == TokenKind::kIdentifier && token.text != "_");
}

Result<std::string> TokenStream::expect_name(std::string_view what) {
  if (!at_name()) return expected(what);
  return next().text;
}

std::string TokenStream::rest_of_line() {
  const Token& first = peek();
  if (first.kind == TokenKind::kEnd) return {};
  bool quoted = false;
  std::size_t end = first.offset;
  for (; end < text_.size() && text_[end] != '\n' && (quoted || text_[end] != '#'); ++end) {
    if (text_[end] == '"' && text_[end - (end > 0)] != '\\') quoted = !quoted;
  }
  while (characters::is_blank(text_[end - 1])) --end;  // stops at the token at the latest
  std::string rest = text_.substr(first.offset, end - first.offset);
  const int line = first.line;
  while (!at_end() && peek().line == line) ++position_;
  return rest;
}

bool TokenStream::on_same_line() const {
  return position_ > 0 && !at_end() && peek().line == tokens_[position_ - 1].line;
}

Error TokenStream::error_at(const Token& token, const std::string& message) {
  Error error = invalid_input(token.kind == TokenKind::kInvalid ? token.text : message);
  error.where = where(token);
  return error;
}

std::string TokenStream::where(const Token& token) {
  return std::to_string(token.line) + ":" + std::to_string(token.column);
}

Error TokenStream::expected(std::string_view what) const {
  return error("expected " + std::string(what) + ", found " + describe(peek()));
}

}  // namespace soapstone::core
