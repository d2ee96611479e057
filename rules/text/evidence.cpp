// Reading, writing and replacing evidence lines.
#include "rules/text/evidence.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/hash.h"
#include "core/syntax/lexer.h"

namespace soapstone::rules {
namespace {

constexpr std::string_view kFloatsKey = "floats:", kTypesKey = "types:", kEdgesKey = "edges:";
constexpr std::string_view kDigestKey = "; rule ";

bool begins_with_word(std::string_view line, std::string_view word) {
  const std::string_view content = core::trimmed(line);
  return content.starts_with(word) &&
         (content.size() == word.size() || content[word.size()] == ' ');
}

/// Reads the part if it belongs to the label. False: it does not.
Result<bool> parse_label(std::string_view part, EvidenceLine& line) {
  const auto value = [&](std::string_view key) { return core::trimmed(part.substr(key.size())); };
  if (part.starts_with(kFloatsKey)) {
    SOAPSTONE_ASSIGN_OR_RETURN(line.floats, parse_float_behavior(value(kFloatsKey)));
  } else if (part.starts_with(kTypesKey)) {
    SOAPSTONE_ASSIGN_OR_RETURN(line.types, parse_float_types(value(kTypesKey)));
  } else if (part.starts_with(kEdgesKey)) {
    SOAPSTONE_ASSIGN_OR_RETURN(line.edges, parse_edges(value(kEdgesKey)));
  } else {
    return false;
  }
  return true;
}

/// The line up to the digest.
std::string without_digest(const EvidenceLine& line) {
  // The label comes second, before the versions of the provers.
  const std::string& detail = line.evidence.detail;
  const std::size_t first = std::min(detail.find(';'), detail.size());
  std::string label;
  if (line.types.known()) label += fmt::format("; {} {}", kTypesKey, to_string(line.types));
  label += fmt::format("; {} {}", kFloatsKey, to_string(line.floats));
  if (line.edges) label += fmt::format("; {} {}", kEdgesKey, to_string(*line.edges));
  const bool proved = line.evidence.kind == Evidence::Kind::kProved;
  return (proved ? "proof " : "checked ") + detail.substr(0, first) + label + detail.substr(first);
}

}  // namespace

Result<EvidenceLine> parse_evidence(Evidence::Kind kind, std::string_view rest) {
  EvidenceLine line;
  line.evidence.kind = kind;
  for (bool more = true; more;) {
    const std::size_t end = rest.find(';');
    const std::string_view part = core::trimmed(rest.substr(0, end));
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
    SOAPSTONE_ASSIGN_OR_RETURN(const bool is_label, parse_label(part, line));
    if (is_label) continue;
    if (!line.evidence.detail.empty() && !part.empty()) line.evidence.detail += "; ";
    line.evidence.detail += part;
  }
  return line;
}

std::string to_string(const EvidenceLine& line, std::string_view rule_text) {
  if (line.evidence.kind == Evidence::Kind::kNone) return {};
  std::string text = without_digest(line);
  if (line.evidence.kind == Evidence::Kind::kProved)
    text += std::string(kDigestKey) + proof_digest(rule_text, line);
  return text;
}

namespace {

/// The hash of the words from `rule` to the evidence.
std::uint64_t words_digest(std::string_view rule_text) {
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
    // The evidence begins where the parser sees it: at a word that begins a line of the target and
    // is given no value.
    const bool statement = starts_line && is_word && depth == 0;
    if (in_target && statement && evidence && tokens[k + 1].text != "=") break;
    in_target = in_target || (statement && token.text == "target");
    digest = core::hash_combine(digest, core::hash_text(token.text));
    digest = core::hash_combine(digest, 2 * static_cast<std::uint64_t>(token.kind) +
                                            static_cast<std::uint64_t>(starts_line));
  }
  return digest;
}

}  // namespace

std::string proof_digest(std::string_view rule_text, const EvidenceLine& line) {
  return fmt::format("{:016x}", core::hash_combine(words_digest(rule_text),
                                                   core::hash_text(without_digest(line))));
}

Evidence confirmed(const EvidenceLine& line, std::string_view rule_text) {
  if (line.evidence.kind != Evidence::Kind::kProved) return line.evidence;
  EvidenceLine plain = line;
  std::string& detail = plain.evidence.detail;
  const std::size_t key = detail.rfind(kDigestKey);
  if (key == std::string::npos)
    return {Evidence::Kind::kNone, "the proof does not say of which rule it is"};
  const std::string digest = detail.substr(key + kDigestKey.size());
  detail.resize(key);
  if (!line.types.known() || !line.edges)
    return {Evidence::Kind::kNone, "the proof does not say for which types it holds"};
  if (digest != proof_digest(rule_text, plain))
    return {Evidence::Kind::kNone, "the rule was changed after its proof, or its label was"};
  return plain.evidence;
}

void put_label(const EvidenceLine& line, Rule& rule) {
  rule.floats = line.floats;
  rule.types = line.types;
  rule.edges = line.edges;
  rule.evidence = line.evidence;
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
    return core::trimmed(line) == "\n" || core::trimmed(line).empty() || line[0] == ' ' ||
           line[0] == '\t';
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
