// See permutations.h.
#include "rules/expansion/permutations.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "rules/expansion/edit.h"

namespace soapstone::rules {
namespace {

using core::Result;
using core::Token;
using core::TokenStream;

constexpr int kMostCalls = 256;  // each reads the whole text again

Result<std::vector<int>> permutation(TokenStream& tokens) {
  const Token at = tokens.peek();
  std::vector<int> values;
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("["));
  while (!tokens.accept("]")) {
    const auto value = small_number(tokens.peek().text);
    if (!value) return tokens.expected("a number of a permutation");
    values.push_back(*value);
    tokens.next();
    if (!tokens.at("]")) SOAPSTONE_RETURN_IF_ERROR(tokens.expect(","));
  }
  std::vector<int> sorted = values, wanted(values.size());
  std::ranges::sort(sorted);
  std::iota(wanted.begin(), wanted.end(), 0);
  if (sorted != wanted) return TokenStream::error_at(at, "this is no permutation");
  return values;
}

Result<std::vector<int>> evaluate(const Token& name, TokenStream& tokens) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto first, permutation(tokens));
  std::vector<int> result(first.size());
  if (name.text == "inverse") {
    for (std::size_t i = 0; i < first.size(); ++i)
      result[static_cast<std::size_t>(first[i])] = static_cast<int>(i);
    return result;
  }
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect(","));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto second, permutation(tokens));
  if (second.size() != first.size())
    return TokenStream::error_at(name, "permutations of different ranks");
  for (std::size_t i = 0; i < second.size(); ++i)
    result[i] = first[static_cast<std::size_t>(second[i])];
  return result;
}

/// The last call: no other one is inside it.
Result<std::optional<Edit>> last_call(const std::string& text) {
  std::optional<TokenStream> at;
  for (TokenStream tokens(text); !tokens.at_end(); tokens.next())
    if ((tokens.at("inverse") || tokens.at("compose")) && is_punctuation(tokens.peek(1), "("))
      at = tokens;
  if (!at) return std::optional<Edit>();
  const Token name = at->next();
  at->next();
  if (!at->at("[")) return TokenStream::error_at(name, "`" + name.text + "` takes permutations");
  SOAPSTONE_ASSIGN_OR_RETURN(const auto value, evaluate(name, *at));
  const std::size_t end = at->peek().offset + 1;
  SOAPSTONE_RETURN_IF_ERROR(at->expect(")"));
  return std::optional(Edit{name.offset, end, list_text(value)});
}

}  // namespace

core::Result<std::string> evaluate_permutations(std::string text) {
  const auto mentions = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  int calls = 0;
  for (const std::string_view word : {"inverse", "compose"})
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      ++calls;
  if (calls > kMostCalls)
    return core::invalid_input("a rule mentions `inverse` and `compose` more than " +
                               std::to_string(kMostCalls) + " times");
  while (mentions("inverse") || mentions("compose")) {  // else, as mostly: no need for tokens
    SOAPSTONE_ASSIGN_OR_RETURN(auto edit, last_call(text));
    if (!edit) return text;
    text = edited(text, {*edit});
  }
  return text;
}

}  // namespace soapstone::rules
