// See optional_inputs.h.
#include "rules/expansion/optional_inputs.h"

#include <algorithm>
#include <set>

#include "core/syntax/lexer.h"
#include "rules/expansion/edit.h"

namespace soapstone::rules {
namespace {

using core::Result;
using core::Token;
using core::TokenKind;
using core::TokenStream;

constexpr std::size_t kMostOptional = 3;  // eight instances

/// The tokens of a rule, and how deep each is in parentheses.
class Words {
 public:
  explicit Words(const std::string& text) : tokens_(core::tokenize(text)) {
    int depth = 0;
    for (const Token& token : tokens_) {
      if (is_punctuation(token, ")")) --depth;
      depths_.push_back(depth);
      if (is_punctuation(token, "(")) ++depth;
    }
  }

  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t k) const { return tokens_[std::min(k, size() - 1)]; }
  bool within_call(std::size_t k) const { return depths_[k] > 0; }
  bool is_name(std::size_t k) const { return tokens_[k].kind == TokenKind::kIdentifier; }
  /// A name with a question mark right behind it.
  bool is_marked(std::size_t k) const {
    const Token& mark = (*this)[k + 1];
    return is_name(k) && is_punctuation(mark, "?") &&
           mark.offset == tokens_[k].offset + tokens_[k].text.size();
  }
  /// Behind the bracket that closes the one at k.
  std::size_t behind(std::size_t k, std::string_view open, std::string_view close) const {
    int depth = 0;
    for (; k + 1 < size(); ++k) {
      depth += is_punctuation(tokens_[k], open) ? 1 : is_punctuation(tokens_[k], close) ? -1 : 0;
      if (depth == 0) return k + 1;
    }
    return k;
  }
  std::size_t begin_of(std::size_t k) const { return (*this)[k].offset; }
  /// The end of the token's text; names and punctuation stand for themselves.
  std::size_t end_of(std::size_t k) const { return tokens_[k].offset + tokens_[k].text.size(); }

 private:
  std::vector<Token> tokens_;
  std::vector<int> depths_;
};

/// Names that are marked as operands but computed by no marked statement, as they are met.
std::vector<std::string> optional_names(const Words& words) {
  std::set<std::string> computed;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < words.size(); ++k)
    if (words.is_marked(k) && !words.within_call(k)) computed.insert(words[k].text);
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string& name = words[k].text;
    if (words.is_marked(k) && words.within_call(k) && !computed.contains(name) &&
        std::ranges::find(names, name) == names.end())
      names.push_back(name);
  }
  return names;
}

/// One choice of what is left out.
class Choice {
 public:
  Choice(const std::string& text, const Words& words, std::set<std::string> absent)
      : text_(text), words_(words), absent_(std::move(absent)) {}

  Result<std::string> run() {
    for (std::size_t k = 0; k < words_.size();) {
      SOAPSTONE_ASSIGN_OR_RETURN(k, step(k));
    }
    std::ranges::sort(edits_, {}, &Edit::begin);
    return edited(text_, edits_);
  }

 private:
  bool is_absent(std::size_t k) const {
    return words_.is_name(k) && absent_.contains(words_[k].text);
  }

  /// Looks at the token k; where to go on.
  Result<std::size_t> step(std::size_t k) {
    if (!words_.is_name(k)) return k + 1;
    if (words_.within_call(k)) return operand(k);
    if (words_.is_marked(k)) return statement(k);
    if (is_absent(k) && is_punctuation(words_[k + 1], ":")) return declaration(k);
    return k + 1;
  }

  void erase(std::size_t first, std::size_t last) {
    edits_.push_back({words_.begin_of(first), words_.end_of(last), ""});
  }

  /// `b: [o] constant`, `b: f32[2] = {1, 2}`
  std::size_t declaration(std::size_t k) {
    std::size_t end = k + 2;
    if (words_.is_name(end)) ++end;  // the type
    end = words_.behind(end, "[", "]");
    if (is_punctuation(words_[end], "=")) end = words_.behind(end + 1, "{", "}");
    const bool constant = words_[end].text == "constant" && words_[end].line == words_[k].line &&
                          !is_punctuation(words_[end + 1], ":");
    if (constant) ++end;
    erase(k, end - 1);
    return end;
  }

  /// `s?, t? = op(…)`: stays without its marks, or goes.
  std::size_t statement(std::size_t first) {
    std::size_t call = first;
    while (call + 1 < words_.size() && !is_punctuation(words_[call], "(")) ++call;
    const std::size_t end = words_.behind(call, "(", ")");
    bool goes = false;
    for (std::size_t k = call; k < end; ++k) goes = goes || (words_.is_marked(k) && is_absent(k));
    for (std::size_t k = first; k < call; ++k) {
      if (!words_.is_marked(k)) continue;
      if (goes)
        absent_.insert(words_[k].text);
      else
        erase(k + 1, k + 1);
    }
    if (!goes) return call;
    erase(first, end - 1);
    return end;
  }

  /// An operand of a call; attributes follow `;` and are no operands.
  Result<std::size_t> operand(std::size_t k) {
    const bool marked = words_.is_marked(k);
    const Token& before = words_[k - 1];
    const bool is_operand = is_punctuation(before, "(") || is_punctuation(before, ",");
    const bool ends = is_punctuation(words_[k + 1], ",") || is_punctuation(words_[k + 1], ")") ||
                      is_punctuation(words_[k + 1], ";");
    if (!marked && is_absent(k) && is_operand && ends)
      return TokenStream::error_at(words_[k], "`" + words_[k].text + "` may be left out: write `" +
                                                  words_[k].text +
                                                  "?` here as well, and `NAME? = …` for what is "
                                                  "computed from it");
    if (!marked) return k + 1;
    if (!is_absent(k)) {
      erase(k + 1, k + 1);
      return k + 2;
    }
    // Its place stays marked; at the end of the operands that means nothing (RuleSide::add_node).
    edits_.push_back({words_.begin_of(k), words_.end_of(k + 1), "_"});
    return k + 2;
  }

  const std::string& text_;
  const Words& words_;
  std::set<std::string> absent_;
  std::vector<Edit> edits_;
};

}  // namespace

Result<std::vector<RuleInstance>> expand_optional_inputs(const std::string& text) {
  if (text.find('?') == std::string::npos) return std::vector<RuleInstance>{{"", text}};
  const Words words(text);
  const std::vector<std::string> names = optional_names(words);
  if (names.size() > kMostOptional)
    return core::invalid_input("a rule has more than " + std::to_string(kMostOptional) +
                               " optional inputs");
  std::vector<RuleInstance> instances;
  for (unsigned choice = 0; choice < 1U << names.size(); ++choice) {
    std::set<std::string> absent;
    std::string suffix;
    for (std::size_t k = 0; k < names.size(); ++k) {
      const bool left_out = (choice >> (names.size() - 1 - k) & 1U) != 0;
      if (left_out) absent.insert(names[k]);
      suffix += (suffix.empty() ? "" : ",") + names[k] + (left_out ? "=absent" : "=given");
    }
    SOAPSTONE_ASSIGN_OR_RETURN(std::string instance, Choice(text, words, absent).run());
    instances.push_back({std::move(suffix), std::move(instance)});
  }
  return instances;
}

}  // namespace soapstone::rules
