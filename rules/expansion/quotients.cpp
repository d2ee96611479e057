// See quotients.h. Quotients may be nested, so the first one whose numerator has none is replaced
// until there is none left.
#include "rules/expansion/quotients.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/text/statements.h"
#include "rules/expansion/edit.h"

namespace soapstone::rules {
namespace {

using core::Result;
using core::Token;
using core::TokenKind;
using core::TokenStream;

constexpr int kMostQuotients = 100;

/// A quotient in the text: where its numerator begins, where its divisor ends.
struct Quotient {
  std::size_t begin = 0, end = 0;
  std::string numerator;  ///< The text as it is written, without parentheses around it.
  std::int64_t divisor = 1;
  Token at;  ///< Its `/`.
};

core::Error bad_divisor(const Token& at) {
  return TokenStream::error_at(at, "a size is divided by a number from 1 on, as in `h/2`");
}

/// The token at which the numerator that ends in `last` begins: itself, or the parenthesis that it
/// closes.
std::optional<std::size_t> numerator_begin(const std::vector<Token>& tokens, std::size_t last) {
  const Token& token = tokens[last];
  if (token.kind == TokenKind::kIdentifier || token.kind == TokenKind::kSymbol ||
      token.kind == TokenKind::kNumber)
    return last;
  if (!is_punctuation(token, ")")) return std::nullopt;
  int depth = 0;
  for (std::size_t k = last + 1; k-- > 0;) {
    depth += is_punctuation(tokens[k], ")") ? 1 : is_punctuation(tokens[k], "(") ? -1 : 0;
    if (depth == 0) return k;
  }
  return std::nullopt;
}

Result<std::optional<Quotient>> first_quotient(const std::string& text) {
  const std::vector<Token> tokens = core::tokenize(text);
  for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
    if (!is_punctuation(tokens[k], "/")) continue;
    const auto begin = k == 0 ? std::nullopt : numerator_begin(tokens, k - 1);
    if (!begin) return TokenStream::error_at(tokens[k], "expected a size before `/`");
    Quotient found;
    found.at = tokens[k];
    found.begin = tokens[*begin].offset;
    const Token& divisor = tokens[k + 1];
    const auto number = small_number(divisor.text);
    if (divisor.kind != TokenKind::kNumber || !number || *number < 1) return bad_divisor(divisor);
    found.divisor = *number;
    found.end = divisor.offset + divisor.text.size();
    const bool wrapped = *begin + 1 < k;
    const std::size_t first = wrapped ? tokens[*begin + 1].offset : found.begin;
    const std::size_t last = wrapped ? tokens[k - 1].offset : tokens[k].offset;
    found.numerator = text.substr(first, last - first);
    found.numerator.resize(found.numerator.find_last_not_of(" \t\r\n") + 1);
    return std::optional(std::move(found));
  }
  return std::optional<Quotient>();
}

/// The numerator as it is written everywhere, and its value if it is a number.
struct Numerator {
  std::string text;
  std::optional<std::int64_t> value;
};

Result<Numerator> read_numerator(const Quotient& quotient) {
  core::SymbolTable symbols;
  TokenStream tokens(quotient.numerator);
  const auto p = core::parse_polynomial(tokens, symbols);
  if (!p || !tokens.at_end())
    return TokenStream::error_at(quotient.at, "`" + quotient.numerator + "` is no size");
  return Numerator{p->to_string(symbols),
                   p->is_constant() ? std::optional(p->constant()) : std::nullopt};
}

/// In front of the word `source` that begins the first side.
std::optional<std::size_t> before_source(const std::string& text) {
  int depth = 0;
  const std::vector<Token> tokens = core::tokenize(text);
  for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
    const Token& token = tokens[k];
    depth += is_punctuation(token, "(") || is_punctuation(token, "[")   ? 1
             : is_punctuation(token, ")") || is_punctuation(token, "]") ? -1
                                                                        : 0;
    const bool named = k > 0 && tokens[k - 1].text == "rule";
    if (depth == 0 && token.kind == TokenKind::kIdentifier && token.text == "source" && !named &&
        tokens[k + 1].text != ":")
      return token.offset;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> name_quotients(std::string text) {
  if (text.find('/') == std::string::npos) return text;  // most rules
  std::vector<std::string> conditions;
  for (int count = 0;; ++count) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto quotient, first_quotient(text));
    if (!quotient) break;
    if (count == kMostQuotients)
      return TokenStream::error_at(quotient->at, "a rule has more than " +
                                                     std::to_string(kMostQuotients) + " quotients");
    SOAPSTONE_ASSIGN_OR_RETURN(const Numerator above, read_numerator(*quotient));
    std::string value;
    if (above.value) {
      if (*above.value % quotient->divisor != 0)
        return TokenStream::error_at(quotient->at, std::to_string(*above.value) +
                                                       " is not divisible by " +
                                                       std::to_string(quotient->divisor));
      value = std::to_string(*above.value / quotient->divisor);
      if (value[0] == '-') value = fmt::format("({})", value);
    } else {
      const bool simple = core::is_identifier(above.text);
      const std::string divisor = std::to_string(quotient->divisor);
      value = core::quote_symbol((simple ? above.text : "(" + above.text + ")") + "/" + divisor);
      const std::string condition = fmt::format("{}*{} = {}", divisor, value, above.text);
      if (std::ranges::find(conditions, condition) == conditions.end())
        conditions.push_back(condition);
    }
    text = edited(text, {Edit{quotient->begin, quotient->end, value}});
  }
  std::string where;
  for (const std::string& condition : conditions)
    where += (where.empty() ? "where " : ", ") + condition;
  if (const auto at = before_source(text); at && !where.empty()) text.insert(*at, where + " ");
  return text;
}

}  // namespace soapstone::rules
