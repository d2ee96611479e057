// Reading, writing and replacing evidence lines.
#include "rules/evidence.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/hash.h"
#include "core/lexer.h"

namespace soapstone::rules {
namespace {

constexpr std::array<std::string_view, 3> kFloatNames = {"exact", "reassociates", "changes-range"};
constexpr std::string_view kFloatsKey = "floats:";
constexpr std::string_view kDigestKey = "; rule ";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool begins_with_word(std::string_view line, std::string_view word) {
  const std::string_view content = trimmed(line);
  return content.starts_with(word) &&
         (content.size() == word.size() || content[word.size()] == ' ');
}

}  // namespace

std::string_view to_string(FloatBehavior floats) {
  return kFloatNames[static_cast<std::size_t>(floats)];
}

Result<EvidenceLine> parse_evidence(Evidence::Kind kind, std::string_view rest) {
  EvidenceLine line;
  line.evidence.kind = kind;
  for (bool more = true; more;) {
    const std::size_t end = rest.find(';');
    const std::string_view part = trimmed(rest.substr(0, end));
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
    if (!part.starts_with(kFloatsKey)) {
      if (!line.evidence.detail.empty() && !part.empty()) line.evidence.detail += "; ";
      line.evidence.detail += part;
      continue;
    }
    const std::string_view name = trimmed(part.substr(kFloatsKey.size()));
    const auto known = std::ranges::find(kFloatNames, name);
    if (known == kFloatNames.end())
      return core::invalid_input("floats are `exact`, `reassociates` or `changes-range`, not `" +
                                 std::string(name) + "`");
    line.floats = static_cast<FloatBehavior>(known - kFloatNames.begin());
  }
  return line;
}

std::string to_string(const EvidenceLine& line, std::string_view rule_text) {
  if (line.evidence.kind == Evidence::Kind::kNone) return {};
  const bool proved = line.evidence.kind == Evidence::Kind::kProved;
  // The treatment of floats comes second, before the versions of the provers.
  const std::string& detail = line.evidence.detail;
  const std::size_t first = std::min(detail.find(';'), detail.size());
  std::string text = (proved ? "proof " : "checked ") + detail.substr(0, first) +
                     "; floats: " + std::string(to_string(line.floats)) + detail.substr(first);
  if (proved) text += std::string(kDigestKey) + rule_digest(rule_text);
  return text;
}

std::string rule_digest(std::string_view rule_text) {
  std::uint64_t digest = 0;
  bool in_target = false;
  int line = 0, depth = 0;
  const std::vector<core::Token> tokens = core::tokenize(rule_text);
  for (std::size_t k = 0; k + 1 < tokens.size(); ++k) {
    const core::Token& token = tokens[k];
    const bool starts_line = token.line != line;
    line = token.line;
    if (token.kind == core::TokenKind::kPunctuation) {
      depth += static_cast<int>(token.text == "(") - static_cast<int>(token.text == ")");
    }
    const bool is_word = token.kind == core::TokenKind::kIdentifier;
    const bool evidence = token.text == "checked" || token.text == "proof";
    // As the parser sees it: a word that begins a line of the target and is given no value.
    const bool statement = starts_line && is_word && depth == 0;
    if (in_target && statement && evidence && tokens[k + 1].text != "=") break;
    in_target = in_target || (statement && token.text == "target");
    digest = core::hash_combine(digest, core::hash_text(token.text));
    digest = core::hash_combine(digest, 2 * static_cast<std::uint64_t>(token.kind) +
                                            static_cast<std::uint64_t>(starts_line));
  }
  return fmt::format("{:016x}", digest);
}

Evidence confirmed(Evidence evidence, std::string_view rule_text) {
  if (evidence.kind != Evidence::Kind::kProved) return evidence;
  const std::size_t key = evidence.detail.rfind(kDigestKey);
  if (key == std::string::npos)
    return {Evidence::Kind::kNone, "the proof does not say of which rule it is"};
  const std::string digest = evidence.detail.substr(key + kDigestKey.size());
  if (digest != rule_digest(rule_text))
    return {Evidence::Kind::kNone, "the rule was changed after its proof"};
  evidence.detail.resize(key);
  return evidence;
}

namespace {

/// Lines of a file, and those of one rule among them.
class RuleLines {
 public:
  explicit RuleLines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      lines_.emplace_back(text.substr(0, end + 1));
      text.remove_prefix(end + 1);
    }
  }

  void edit(const EvidenceEdit& edit) {
    const std::size_t first = static_cast<std::size_t>(edit.rule_line) - 1;
    // The rule goes on to the next line that is not indented.
    std::size_t last = first;
    for (std::size_t k = first + 1; k < lines_.size() && is_within(lines_[k]); ++k)
      if (is_statement(lines_[k])) last = k;
    std::string text;
    for (std::size_t k = first; k <= last; ++k) text += lines_[k];
    const std::string evidence = to_string(edit.line, text);
    const auto at = lines_.begin() + static_cast<std::ptrdiff_t>(last);
    const bool there =
        begins_with_word(lines_[last], "checked") || begins_with_word(lines_[last], "proof");
    if (!lines_[last].ends_with('\n')) lines_[last] += '\n';
    if (evidence.empty()) {
      if (there) lines_.erase(at);
    } else if (there) {
      *at = "  " + evidence + "\n";
    } else {
      lines_.insert(at + 1, "  " + evidence + "\n");
    }
  }

  std::string text() const {
    std::string out;
    for (const std::string& line : lines_) out += line;
    return out;
  }

 private:
  static bool is_within(const std::string& line) {
    return trimmed(line) == "\n" || trimmed(line).empty() || line[0] == ' ' || line[0] == '\t';
  }
  static bool is_statement(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(" \t\r\n");
    return begin != std::string::npos && line[begin] != '#';
  }

  std::vector<std::string> lines_;
};

}  // namespace

std::string with_evidence(std::string_view file_text, const std::vector<EvidenceEdit>& edits) {
  RuleLines lines(file_text);
  std::vector<EvidenceEdit> from_the_end = edits;
  std::ranges::sort(from_the_end, std::ranges::greater(), &EvidenceEdit::rule_line);
  for (const EvidenceEdit& edit : from_the_end) lines.edit(edit);
  return lines.text();
}

}  // namespace soapstone::rules
