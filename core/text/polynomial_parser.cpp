// Sizes and attribute values from text. Numbers in a user's text are bounded here, because the
// polynomial's operators take overflow for a broken invariant.
#include <charconv>
#include <limits>

#include "core/text/statements.h"

namespace soapstone::core {
namespace {

constexpr int kMaxDepth = 64;            // of parentheses: the parser is recursive
constexpr std::size_t kMaxTerms = 1024;  // each is looked at for each that is added

class PolynomialParser {
 public:
  PolynomialParser(TokenStream& tokens, SymbolTable& symbols)
      : tokens_(tokens), symbols_(symbols) {}

  Result<Polynomial> sum() {
    const Token at = tokens_.peek();
    Polynomial total = 0;
    bool negative = tokens_.accept("-");
    do {
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial term, product(negative));
      auto next = Polynomial::checked_add(total, term);
      if (!next) return too_large(at);
      total = *std::move(next);
      if (total.terms().size() > kMaxTerms)
        return TokenStream::error_at(at, "sum has too many terms");
      negative = tokens_.at("-");
    } while (tokens_.accept("+") || tokens_.accept("-"));
    return total;
  }

 private:
  Result<Polynomial> product(bool negative) {
    const Token at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(Polynomial total, factor(negative));
    while (tokens_.accept("*")) {
      SOAPSTONE_ASSIGN_OR_RETURN(const Polynomial right, factor(false));
      if ((total.terms().size() + 1) * (right.terms().size() + 1) > kMaxTerms) {
        return TokenStream::error_at(at, "product has too many terms");
      }
      auto next = Polynomial::checked_multiply(total, right);
      if (!next) return too_large(at);
      total = *std::move(next);
    }
    return total;
  }

  Result<Polynomial> factor(bool negative) {
    const Token at = tokens_.peek();
    // The sign belongs to the number: the smallest integer has no positive counterpart.
    if (at.kind == TokenKind::kNumber) return integer(negative);
    Polynomial value;
    if (at.kind == TokenKind::kIdentifier || at.kind == TokenKind::kSymbol) {
      value = symbols_.intern(tokens_.next().text);
    } else if (tokens_.at("(")) {
      SOAPSTONE_ASSIGN_OR_RETURN(value, parenthesis());
    } else {
      return tokens_.expected("a size");
    }
    if (!negative) return value;
    auto negated = Polynomial::checked_multiply(value, -1);
    if (!negated) return too_large(at);
    return *std::move(negated);
  }

  Result<Polynomial> parenthesis() {
    if (++depth_ > kMaxDepth) return tokens_.error("parentheses are nested too deeply");
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("("));
    SOAPSTONE_ASSIGN_OR_RETURN(Polynomial value, sum());
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(")"));
    --depth_;
    return value;
  }

  Result<Polynomial> integer(bool negative) {
    const Token token = tokens_.next();
    const std::string text = (negative ? "-" : "") + token.text;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return too_large(token);
    if (error != std::errc() || end != text.data() + text.size()) {
      return TokenStream::error_at(token, "expected an integer, found `" + token.text + "`");
    }
    return Polynomial(value);
  }

  static Error too_large(const Token& at) {
    return TokenStream::error_at(at, "number does not fit into 64 bits");
  }

  TokenStream& tokens_;
  SymbolTable& symbols_;
  int depth_ = 0;
};

/// The real number at the next tokens, with its sign as `sign` tokens (0 or 1); none: something
/// else stands there.
std::optional<double> real_at(const TokenStream& tokens, std::size_t sign) {
  const Token& token = tokens.peek(sign);
  const double factor = sign == 0 ? 1 : -1;
  if (token.kind == TokenKind::kIdentifier) {
    if (token.text == "inf") return factor * std::numeric_limits<double>::infinity();
    if (token.text == "nan") return std::numeric_limits<double>::quiet_NaN();
    return std::nullopt;
  }
  const std::string& text = token.text;
  if (token.kind != TokenKind::kNumber || text.starts_with("0x")) return std::nullopt;
  if (text.find_first_of(".eE") == std::string::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return factor * value;
}

}  // namespace

Result<Polynomial> parse_polynomial(TokenStream& tokens, SymbolTable& symbols) {
  return PolynomialParser(tokens, symbols).sum();
}

Result<std::vector<Polynomial>> parse_polynomial_list(TokenStream& tokens, SymbolTable& symbols) {
  std::vector<Polynomial> values;
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("["));
  if (tokens.accept("]")) return values;
  do {
    SOAPSTONE_ASSIGN_OR_RETURN(Polynomial value, parse_polynomial(tokens, symbols));
    values.push_back(std::move(value));
  } while (tokens.accept(","));
  if (!tokens.accept("]")) return tokens.expected("`,` or `]`");
  return values;
}

Result<TypeSyntax> parse_type(TokenStream& tokens, SymbolTable& symbols) {
  TypeSyntax type;
  if (tokens.peek().kind == TokenKind::kIdentifier) {
    type.data_type = parse_data_type(tokens.peek().text);
    if (!type.data_type) {
      return tokens.error("unknown element type `" + tokens.peek().text + "`");
    }
    tokens.next();
  }
  if (tokens.at("[") && tokens.peek(1).text == "?") {
    tokens.next();
    tokens.next();
    type.shape_known = false;
    SOAPSTONE_RETURN_IF_ERROR(tokens.expect("]"));
    return type;
  }
  SOAPSTONE_ASSIGN_OR_RETURN(type.shape, parse_polynomial_list(tokens, symbols));
  return type;
}

Result<AttributeValue> parse_attribute_value(TokenStream& tokens, SymbolTable& symbols) {
  if (tokens.peek().kind == TokenKind::kString) return AttributeValue(tokens.next().text);
  if (tokens.at("[")) {
    SOAPSTONE_ASSIGN_OR_RETURN(auto values, parse_polynomial_list(tokens, symbols));
    return AttributeValue(std::move(values));
  }
  const std::size_t sign = tokens.at("-") ? 1 : 0;
  if (const auto real = real_at(tokens, sign)) {
    for (std::size_t i = 0; i <= sign; ++i) tokens.next();
    return AttributeValue(*real);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(Polynomial value, parse_polynomial(tokens, symbols));
  return AttributeValue(std::move(value));
}

}  // namespace soapstone::core
