// Cuts a file at the lines that begin with `rule`.
#include <string>

#include "core/syntax/lexer.h"
#include "rules/expansion/expand.h"

namespace soapstone::rules {
namespace {

core::Error bad_line(int line, const std::string& message) {
  core::Token at;
  at.line = line;
  return core::TokenStream::error_at(at, message);
}

class Splitter {
 public:
  SplitRules run(std::string_view text) {
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = text.find('\n');
      if (auto status = read(text.substr(0, end), number); !status) {
        // One for each rule: further lines like it are the same slip.
        if (!complained_) found_.errors.push_back(status.error());
        complained_ = true;
      }
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return std::move(found_);
  }

 private:
  core::Status read(std::string_view line, int number) {
    const std::string_view content = core::trimmed(line);
    if (content.empty()) {
      comment_.clear();
    } else if (line[0] == '#') {
      add_comment(core::trimmed(content.substr(1)));
    } else if (content == line && (line == "rule" || line.starts_with("rule "))) {
      found_.rules.push_back({{}, std::move(comment_), number, {}});
      comment_.clear();
      complained_ = false;
    } else if (line[0] != ' ' && line[0] != '\t') {
      return bad_line(number, "expected `rule`; the lines of a rule are indented");
    } else if (found_.rules.empty()) {
      return bad_line(number, "expected `rule` before this line");
    }
    if (!found_.rules.empty()) found_.rules.back().text += std::string(line) + "\n";
    return core::Done{};
  }

  void add_comment(std::string_view text) {
    if (!comment_.empty() && !text.empty()) comment_ += ' ';
    comment_ += text;
  }

  SplitRules found_;
  std::string comment_;
  bool complained_ = false;
};

}  // namespace

namespace {

core::Result<std::string> name_of(const RuleText& rule) {
  core::TokenStream tokens(rule.text);
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("rule"));
  if (!tokens.on_same_line()) return bad_line(rule.line, "expected the name of the rule");
  const int column = tokens.peek().column;
  auto name = tokens.expect_name("the name of the rule");
  if (name) return name;
  core::Error error = name.error();
  error.where = std::to_string(rule.line) + ":" + std::to_string(column);
  return error;
}

}  // namespace

SplitRules split_rules(std::string_view file_text) {
  SplitRules found = Splitter().run(file_text);
  std::erase_if(found.rules, [&](RuleText& rule) {
    auto name = name_of(rule);
    if (!name) {
      found.errors.push_back(name.error());
      return true;
    }
    rule.name = *std::move(name);
    return false;
  });
  return found;
}

}  // namespace soapstone::rules
