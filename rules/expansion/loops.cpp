// See loops.h.
#include "rules/expansion/loops.h"

#include <algorithm>
#include <numeric>

#include "core/syntax/lexer.h"
#include "rules/expansion/edit.h"
#include "rules/expansion/functions.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {
namespace {

using core::Result;
using core::TokenKind;
using core::TokenStream;

constexpr int kMaxRank = 8, kMostSiblings = 64;

/// Reads one `for` clause.
class LoopParser {
 public:
  LoopParser(TokenStream& tokens, std::string_view text, const std::set<int>* numbers)
      : tokens_(tokens), text_(text), numbers_(numbers) {}

  Result<Loop> run() {
    loop_.begin = tokens_.peek().offset;
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("for"));
    SOAPSTONE_RETURN_IF_ERROR(parse_variables());
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("in"));
    if (tokens_.at("siblings")) {
      SOAPSTONE_RETURN_IF_ERROR(parse_siblings());
    } else if (tokens_.at("ranks")) {
      SOAPSTONE_RETURN_IF_ERROR(parse_ranks());
    } else if (tokens_.at("perms")) {
      SOAPSTONE_RETURN_IF_ERROR(parse_perms());
    } else if (tokens_.at("functions") || tokens_.at("total_functions")) {
      SOAPSTONE_RETURN_IF_ERROR(parse_functions());
    } else {
      SOAPSTONE_RETURN_IF_ERROR(parse_set());
    }
    return std::move(loop_);
  }

 private:
  core::Status parse_variables() {
    const bool several = tokens_.accept("(");
    do {
      SOAPSTONE_ASSIGN_OR_RETURN(auto name, tokens_.expect_name("a parameter"));
      loop_.variables.push_back(std::move(name));
    } while (several && tokens_.accept(","));
    if (several) return tokens_.expect(")");
    return core::Done{};
  }

  core::Status single_variable() {
    if (loop_.variables.size() == 1) return core::Done{};
    return tokens_.error("this set has single values, but several parameters are given");
  }

  struct Range {
    int low = 0, high = 0;
  };

  /// `ranks(0..3)`: the lexer takes `0..3` for one number. The bracket behind it is not read.
  Result<Range> parse_range(const std::string& what, const std::string& example, int least,
                            int most) {
    SOAPSTONE_RETURN_IF_ERROR(single_variable());
    tokens_.next();
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("("));
    const std::string& range = tokens_.peek().text;
    const std::size_t dots = range.find("..");
    if (dots == std::string::npos) return tokens_.expected(what + " such as " + example);
    const auto low = small_number(range.substr(0, dots));
    const auto high = small_number(range.substr(dots + 2));
    if (!low || !high || *low < least || *high > most || *low > *high)
      return tokens_.error(what + " go from a to b with " + std::to_string(least) +
                           " <= a <= b <= " + std::to_string(most));
    tokens_.next();
    return Range{*low, *high};
  }

  core::Status parse_ranks() {
    SOAPSTONE_ASSIGN_OR_RETURN(const Range range, parse_range("ranks", "0..3", 0, kMaxRank));
    loop_.over_ranks = true;
    for (int rank = range.low; rank <= range.high; ++rank)
      loop_.values.push_back({std::to_string(rank)});
    return end_with(")");
  }

  core::Status parse_siblings() {
    SOAPSTONE_ASSIGN_OR_RETURN(const Range range,
                               parse_range("siblings", "2..64", 2, kMostSiblings));
    for (const int number : numbers_ != nullptr ? *numbers_ : usual_siblings())
      if (number >= range.low && number <= range.high)
        loop_.values.push_back({std::to_string(number)});
    return end_with(")");
  }

  core::Status parse_perms() {
    SOAPSTONE_RETURN_IF_ERROR(single_variable());
    tokens_.next();
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("("));
    const auto rank = small_number(tokens_.peek().text);
    if (!rank || *rank < 0 || *rank > 5) return tokens_.error("perms(n) needs a rank from 0 to 5");
    tokens_.next();
    std::vector<int> perm(static_cast<std::size_t>(*rank));
    std::iota(perm.begin(), perm.end(), 0);
    do {
      loop_.values.push_back({list_text(perm)});
    } while (std::ranges::next_permutation(perm).found);
    return end_with(")");
  }

  core::Status parse_functions() {
    SOAPSTONE_RETURN_IF_ERROR(single_variable());
    loop_.over_functions = true;
    const std::string set = tokens_.peek().text;
    for (std::string& call : calls_of_functions(loop_.variables[0], set == "total_functions"))
      loop_.values.push_back({std::move(call)});
    return end_with(set);
  }

  core::Status parse_set() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("{"));
    do {
      std::vector<std::string> values;
      const bool several = loop_.variables.size() > 1;
      if (several) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("("));
      for (std::size_t i = 0; i < loop_.variables.size(); ++i) {
        if (i > 0) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(","));
        SOAPSTONE_ASSIGN_OR_RETURN(auto value, parse_value());
        values.push_back(std::move(value));
      }
      if (several) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(")"));
      if (loop_.values.size() == kMaxInstances)
        return tokens_.error("a parameter has more than " + std::to_string(kMaxInstances) +
                             " values");
      // Values that mention earlier parameters may coincide.
      if (std::ranges::find(loop_.values, values) == loop_.values.end())
        loop_.values.push_back(std::move(values));
    } while (tokens_.accept(","));
    return end_with("}");
  }

  core::Status end_with(std::string_view word) {
    loop_.end = tokens_.peek().offset + word.size();
    return tokens_.expect(word);
  }

  /// A number, name or quoted text, or a list in brackets; taken as it is written.
  Result<std::string> parse_value() {
    const std::size_t begin = tokens_.peek().offset;
    if (tokens_.accept("[")) {
      while (!tokens_.at("]")) {
        if (tokens_.at_end() || tokens_.at("}")) return tokens_.expected("`]`");
        tokens_.next();
      }
      tokens_.next();
    } else {
      tokens_.accept("-");
      const TokenKind kind = tokens_.peek().kind;
      if (kind != TokenKind::kNumber && kind != TokenKind::kIdentifier &&
          kind != TokenKind::kString)
        return tokens_.expected("a value");
      tokens_.next();
    }
    const std::string_view raw = text_.substr(begin, tokens_.peek().offset - begin);
    return std::string(raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1));
  }

  TokenStream& tokens_;
  std::string_view text_;
  const std::set<int>* numbers_;
  Loop loop_;
};

}  // namespace

const std::set<int>& usual_siblings() {
  static const std::set<int> numbers{2, 3, 4, 6, 8};
  return numbers;
}

Result<std::optional<Loop>> first_loop(const std::string& text, const std::set<int>* numbers) {
  TokenStream tokens(text);
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("rule"));
  tokens.next();
  if (!tokens.at("for")) return std::optional<Loop>();
  SOAPSTONE_ASSIGN_OR_RETURN(Loop loop, LoopParser(tokens, text, numbers).run());
  return std::optional(std::move(loop));
}

}  // namespace soapstone::rules
