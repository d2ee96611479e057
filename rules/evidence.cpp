// Reading, writing and replacing evidence lines.
#include "rules/evidence.h"

#include <algorithm>
#include <array>

namespace soapstone::rules {
namespace {

constexpr std::array<std::string_view, 3> kFloatNames = {"exact", "reassociates", "changes-range"};
constexpr std::string_view kFloatsKey = "floats:";

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

std::string to_string(const EvidenceLine& line) {
  if (line.evidence.kind == Evidence::Kind::kNone) return {};
  const bool proved = line.evidence.kind == Evidence::Kind::kProved;
  // The treatment of floats comes second, before the versions of the provers.
  const std::string& detail = line.evidence.detail;
  const std::size_t first = std::min(detail.find(';'), detail.size());
  return (proved ? "proof " : "checked ") + detail.substr(0, first) +
         "; floats: " + std::string(to_string(line.floats)) + detail.substr(first);
}

std::string with_evidence(std::string_view file_text, const std::vector<EvidenceEdit>& edits) {
  std::vector<std::string> lines;
  for (std::string_view rest = file_text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
    lines.emplace_back(rest.substr(0, end + 1));
    rest.remove_prefix(end + 1);
  }
  std::vector<EvidenceEdit> from_the_end = edits;
  std::ranges::sort(from_the_end, std::ranges::greater(), &EvidenceEdit::rule_line);
  for (const EvidenceEdit& edit : from_the_end) {
    // The rule goes on to the next line that is not indented.
    std::size_t last = static_cast<std::size_t>(edit.rule_line) - 1, k = last + 1;
    for (; k < lines.size() && (trimmed(lines[k]).size() <= 1 || lines[k][0] == ' '); ++k)
      if (lines[k].find_first_not_of(" \t\r\n") != std::string::npos) last = k;
    if (begins_with_word(lines[last], "proof")) continue;
    const std::string text = "  " + to_string(edit.line) + "\n";
    if (begins_with_word(lines[last], "checked")) {
      lines[last] = text;
    } else {
      if (!lines[last].ends_with('\n')) lines[last] += '\n';
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(last) + 1, text);
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace soapstone::rules
