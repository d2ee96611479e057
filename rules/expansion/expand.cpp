// Writes out `for`: replaces words in the text, value by value, outermost loop first, so that the
// values of a loop may mention the variables of those before it.
#include "rules/expansion/expand.h"

#include <algorithm>
#include <optional>

#include "core/syntax/lexer.h"
#include "rules/expansion/edit.h"
#include "rules/expansion/families.h"
#include "rules/expansion/functions.h"
#include "rules/expansion/loops.h"
#include "rules/expansion/optional_inputs.h"
#include "rules/expansion/permutations.h"
#include "rules/expansion/quotients.h"

namespace soapstone::rules {
namespace {

using core::Result;
using core::Token;
using core::TokenKind;
using core::TokenStream;

constexpr int kMaxLoops = 16;
constexpr std::size_t kMaxCharacters = std::size_t{1} << 24;  // of all instances of a rule

/// Puts one value for one variable.
class Substitution {
 public:
  Substitution(std::string_view variable, std::string_view value, bool is_rank)
      : variable_(variable), value_(value), rank_(is_rank ? small_number(value_) : std::nullopt) {}

  Result<std::string> run(const std::string& text) {
    TokenStream tokens(text);
    for (; !tokens.at_end(); tokens.next()) {
      const Token& token = tokens.peek();
      if (token.kind == TokenKind::kIdentifier && token.text == variable_) {
        if (!rank_) {
          replace_value(tokens);
        } else {
          SOAPSTONE_RETURN_IF_ERROR(replace_rank(tokens));
        }
      } else if (token.kind == TokenKind::kNumber && token.text.ends_with(".." + variable_)) {
        // The lexer takes `1..N` for one number.
        const std::size_t end = token.offset + token.text.size();
        edits_.push_back({end - variable_.size(), end, value_});
      }
      before_ = tokens.peek();
    }
    return edited(text, edits_);
  }

 private:
  /// The value itself; `|P|` becomes the number of its elements if it is a list.
  void replace_value(TokenStream& tokens) {
    const Token name = tokens.peek();
    const bool count =
        value_[0] == '[' && is_punctuation(before_, "|") && is_punctuation(tokens.peek(1), "|");
    if (!count) {
      edits_.push_back({name.offset, name.offset + variable_.size(), value_});
      return;
    }
    tokens.next();
    const bool empty = value_.find_first_not_of(' ', 1) == value_.find(']');
    const auto commas = std::ranges::count(value_, ',');
    edits_.push_back(
        {before_.offset, tokens.peek().offset + 1, std::to_string(empty ? 0 : commas + 1)});
  }

  /// `A..` becomes the dimensions, `|A|` their number.
  core::Status replace_rank(TokenStream& tokens) {
    const Token name = tokens.peek();
    if (is_punctuation(before_, "|") && is_punctuation(tokens.peek(1), "|")) {
      tokens.next();
      edits_.push_back({before_.offset, tokens.peek().offset + 1, value_});
      return core::Done{};
    }
    if (!is_punctuation(tokens.peek(1), ".") || !is_punctuation(tokens.peek(2), "."))
      return TokenStream::error_at(name, "`" + variable_ + "` stands for dimensions: write `" +
                                             variable_ + "..` or `|" + variable_ + "|`");
    tokens.next();
    tokens.next();
    Edit edit{name.offset, tokens.peek().offset + 1, {}};
    for (int i = 1; i <= *rank_; ++i)
      edit.text += (i > 1 ? ", " : "") + variable_ + std::to_string(i);
    if (*rank_ == 0) remove_a_comma(tokens, edit);
    edits_.push_back(std::move(edit));
    return core::Done{};
  }

  /// No dimensions: one of the commas beside them goes as well.
  void remove_a_comma(TokenStream& tokens, Edit& edit) {
    if (is_punctuation(tokens.peek(1), ",")) {
      tokens.next();
      edit.end = tokens.peek(1).offset;
    } else if (is_punctuation(before_, ",")) {
      edit.begin = before_.offset;
    }
  }

  std::string variable_, value_;
  std::optional<int> rank_;
  std::vector<Edit> edits_;
  Token before_;
};

/// `choose p in 1..n` as `choose p in 1 .. n`: the lexer takes `1..n` for one number.
std::string with_spaced_choices(std::string text) {
  if (text.find("choose") == std::string::npos) return text;
  std::vector<Edit> edits;
  for (TokenStream tokens(text); !tokens.at_end(); tokens.next()) {
    if (!tokens.at("choose") || tokens.peek(2).text != "in") continue;
    const Token& range = tokens.peek(3);
    const std::size_t dots = range.text.find("..");
    if (range.kind != TokenKind::kNumber || dots == std::string::npos) continue;
    edits.push_back({range.offset + dots, range.offset + dots + 2, " .. "});
  }
  return edited(text, edits);
}

/// `gelu(approximate="tanh")` as `gelu_tanh`: a function's name, with the texts among its
/// attributes.
std::string short_call(const std::string& call) {
  std::string name = call.substr(0, call.find('('));
  for (std::size_t at = call.find('"'); at != std::string::npos; at = call.find('"', at + 1)) {
    const std::size_t end = call.find('"', at + 1);
    name += "_" + call.substr(at + 1, end - at - 1);
    at = end;
  }
  return name;
}

/// `written`: characters of all texts so far, whole instances or not.
core::Status expand_into(const std::string& text, const ExpansionChoice& choice,
                         const std::string& choices, int depth, std::size_t& written,
                         std::vector<RuleInstance>& instances) {
  written += text.size();
  if (written > kMaxCharacters)
    return core::invalid_input("the instances of a rule have more than " +
                                   std::to_string(kMaxCharacters) + " characters together",
                               "write it with fewer or smaller parameters");
  SOAPSTONE_ASSIGN_OR_RETURN(const auto loop, first_loop(text, choice.numbers));
  if (loop && depth == kMaxLoops)
    return core::invalid_input("a rule has more than " + std::to_string(kMaxLoops) + " parameters");
  if (!loop) {
    if (instances.size() == kMaxInstances)
      return core::invalid_input("a rule has more than " + std::to_string(kMaxInstances) +
                                     " instances",
                                 "write it with fewer values, or as several rules");
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string families, expand_families(text));
    SOAPSTONE_ASSIGN_OR_RETURN(std::string values, evaluate_permutations(families));
    SOAPSTONE_ASSIGN_OR_RETURN(values, name_quotients(with_spaced_choices(std::move(values))));
    SOAPSTONE_ASSIGN_OR_RETURN(std::vector<RuleInstance> given, expand_optional_inputs(values));
    for (RuleInstance& instance : given) {
      const std::string comma = choices.empty() || instance.suffix.empty() ? "" : ",";
      instances.push_back({choices + comma + instance.suffix, std::move(instance.text)});
    }
    return core::Done{};
  }
  const std::string rest = edited(text, {Edit{loop->begin, loop->end, {}}});
  for (const auto& values : loop->values) {
    std::string instance = rest, chosen = choices;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& variable = loop->variables[i];
      std::string value = values[i];
      auto substituted = loop->over_functions
                             ? with_calls(instance, variable, value)
                             : Substitution(variable, value, loop->over_ranks).run(instance);
      SOAPSTONE_ASSIGN_OR_RETURN(instance, std::move(substituted));
      if (loop->over_functions) value = short_call(value);
      std::erase_if(value, [](char c) { return c == ' ' || c == '"'; });
      chosen += (chosen.empty() ? "" : ",") + variable + "=" + value;
    }
    if (choice.is_wanted && !choice.is_wanted(instance)) continue;
    SOAPSTONE_RETURN_IF_ERROR(expand_into(instance, choice, chosen, depth + 1, written, instances));
  }
  return core::Done{};
}

}  // namespace

Result<std::vector<RuleInstance>> expand(const RuleText& rule, const ExpansionChoice& choice) {
  std::vector<RuleInstance> instances;
  std::size_t written = 0;
  SOAPSTONE_RETURN_IF_ERROR(expand_into(rule.text, choice, {}, 0, written, instances));
  return instances;
}

}  // namespace soapstone::rules
