// See reachable_operators.h. A text is read once, character by character: there are many of them,
// and all that matters is which words stand between `=` and `(`.
#include "rules/text/reachable_operators.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "ops/definition/registry.h"
#include "rules/expansion/functions.h"

namespace soapstone::rules {
namespace {

bool belongs_to_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class CallScanner {
 public:
  explicit CallScanner(std::string_view text) : text_(text) {}

  CalledWords run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '"') {
        skip_quoted();
      } else if (belongs_to_word(c)) {
        take_word();
      } else {
        take_punctuation(c);
      }
    }
    return std::move(words_);
  }

 private:
  enum class Section : std::uint8_t { kHead, kSource, kTarget };

  void skip_quoted() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
    before_ = '"';
  }

  void take_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs_to_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (section_ == Section::kHead) {
      words_.head.push_back(word);
      if (word == "source" && depth_ == 0) section_ = Section::kSource;
    } else if (section_ == Section::kSource && word == "target" && depth_ == 0) {
      section_ = Section::kTarget;
    } else if (before_ == '=' && depth_ == 0 && is_call()) {
      if (section_ == Section::kTarget) words_.target.push_back(word);
      if (section_ == Section::kSource && !is_optional_) words_.source.push_back(word);
    }
    before_ = 'a';
  }

  bool is_call() const {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    return next != std::string_view::npos && text_[next] == '(';
  }

  void take_punctuation(char c) {
    ++at_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return;
    if (c == '(' || c == '[') ++depth_;
    if (c == ')' || c == ']') --depth_;
    if (c == '=' && depth_ == 0) is_optional_ = before_ == '?';
    before_ = c;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;             ///< Of brackets.
  char before_ = '\n';        ///< The last character that is no blank, 'a' for a word.
  bool is_optional_ = false;  ///< The result of the statement is marked with `?`.
  Section section_ = Section::kHead;
  CalledWords words_;
};

bool is_operator(std::string_view word) { return ops::registry().find(word) != nullptr; }

/// Graphs have filled tensors as constants, which operators of a rule match, too.
bool is_anywhere(std::string_view name) {
  return ops::registry().find(name)->movement == core::Movement::kFill;
}

const std::vector<std::string>& functions() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string& call : calls_of_functions("f", false))
      all.push_back(call.substr(0, call.find('(')));
    return all;
  }();
  return names;
}

/// What variables of loops may stand for.
std::vector<std::string_view> choices_of(const CalledWords& words) {
  std::vector<std::string_view> choices;
  std::ranges::copy_if(words.head, std::back_inserter(choices), is_operator);
  const bool over_functions = std::ranges::any_of(words.head, [](std::string_view word) {
    return word == "functions" || word == "total_functions";
  });
  if (over_functions) choices.insert(choices.end(), functions().begin(), functions().end());
  return choices;
}

/// Whether the word is a variable of a loop that is not written out.
bool is_variable(std::string_view word, const CalledWords& words) {
  return !is_operator(word) || std::ranges::find(words.head, word) != words.head.end();
}

/// What the target calls; where a variable is called that the source does not call, all that it may
/// stand for.
void add_target(const CalledWords& words, OperatorNames& operators) {
  for (const std::string_view word : words.target) {
    if (!is_variable(word, words)) {
      operators.emplace(word);
    } else if (std::ranges::find(words.source, word) == words.source.end()) {
      for (const std::string_view choice : choices_of(words)) operators.emplace(choice);
    }
  }
}

}  // namespace

CalledWords called_words(std::string_view rule_text) { return CallScanner(rule_text).run(); }

CalledWords called_words(const Rule& rule) {
  CalledWords words;
  for (const NodeId id : rule.source.order())
    words.source.emplace_back(rule.source.node(id).op->name);
  for (const NodeId id : rule.target.order())
    words.target.emplace_back(rule.target.node(id).op->name);
  return words;
}

bool may_match(const CalledWords& rule, const OperatorNames& operators) {
  const auto is_there = [&](std::string_view name) {
    return is_anywhere(name) || operators.contains(name);
  };
  return std::ranges::all_of(rule.source, [&](std::string_view word) {
    return is_variable(word, rule) ? std::ranges::any_of(choices_of(rule), is_there)
                                   : is_there(word);
  });
}

OperatorNames reachable_operators(OperatorNames operators, std::vector<CalledWords> rules) {
  for (std::size_t before = rules.size() + 1; before != rules.size();) {
    before = rules.size();
    std::erase_if(rules, [&](const CalledWords& rule) {
      const bool matches = may_match(rule, operators);
      if (matches) add_target(rule, operators);
      return matches;
    });
  }
  return operators;
}

}  // namespace soapstone::rules
