// See families.h. Lines stay where they are.
#include "rules/expansion/families.h"

#include <charconv>
#include <optional>

#include "core/syntax/lexer.h"

namespace soapstone::rules {
namespace {

constexpr int kMostMembers = 64;

struct MemberRange {
  int low = 0, high = 0;  ///< Empty if `high` is the number before `low`.
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<MemberRange> range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto low = number(text.substr(0, dots)), high = number(text.substr(dots + 2));
  if (!low || !high || *low < 0 || *high < *low - 1 || *high - *low >= kMostMembers)
    return std::nullopt;
  return MemberRange{*low, *high};
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

std::string replaced(std::string_view text, const std::string& what, const std::string& by) {
  std::string out;
  for (std::size_t at; (at = text.find(what)) != std::string_view::npos;) {
    out += text.substr(0, at);
    out += by;
    text.remove_prefix(at + what.size());
  }
  return out += text;
}

/// One line, its comment cut off.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text.substr(0, text.find('#'))), line_(number) {}

  core::Result<std::string> run() {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string repeated, repeat());
    return name_members(repeated);
  }

 private:
  core::Error error(std::size_t column, const std::string& message) const {
    core::Token at;
    at.line = line_;
    at.column = static_cast<int>(column) + 1;
    return core::TokenStream::error_at(at, message);
  }

  /// `each i in 1..3 …`: the rest of the line three times.
  core::Result<std::string> repeat() const {
    std::string_view rest = text_;
    const std::size_t indent = std::min(rest.find_first_not_of(" \t"), rest.size());
    if (next_word(rest) != "each") return std::string(text_);
    const std::string variable(next_word(rest));
    const bool in = next_word(rest) == "in";
    const auto members = range(next_word(rest));
    if (!core::is_identifier(variable) || !in || !members)
      return error(indent, "expected `each i in 1..3` before what is to be repeated");
    std::string out(text_.substr(0, indent));
    if (members->low > members->high) return std::string();
    for (int k = members->low; k <= members->high; ++k)
      out += replaced(replaced(rest, "{" + variable + "}", "{" + std::to_string(k) + "}"),
                      "{=" + variable + "}", std::to_string(k));
    return out;
  }

  core::Result<std::string> name_members(std::string_view text) const {
    std::string out, name;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const std::string copied = c == '{' ? copies(text.substr(i + 1)) : std::string();
      if (!copied.empty()) {
        out += copied;
        i = text.find('}', i);
        name.clear();
        continue;
      }
      if (c != '{' || name.empty() || name == "in") {
        out += c;
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        const bool digit = c >= '0' && c <= '9';
        if (letter || (digit && !name.empty()))
          name += c;
        else
          name.clear();
        continue;
      }
      const std::size_t end = std::min(text.find('}', i), text.size());
      SOAPSTONE_ASSIGN_OR_RETURN(const std::string members,
                                 member_list(name, text.substr(i + 1, end - i - 1), i));
      out.resize(out.size() - name.size());
      out += members;
      i = members.empty() ? without_comma(out, text, end) : end;
      name.clear();
    }
    return out;
  }

  /// Of a list that lost a member: drops the comma before it from `out`, or else skips the one
  /// behind it. Returns where the text that was read ends.
  static std::size_t without_comma(std::string& out, std::string_view text, std::size_t end) {
    const std::size_t last = out.find_last_not_of(" \t");
    if (last != std::string::npos && out[last] == ',') {
      out.resize(last);
      return end;
    }
    const std::size_t next = text.find_first_not_of(" \t", end + 1);
    return next != std::string_view::npos && text[next] == ',' ? next : end;
  }

  /// `3 times n}` as `n, n, n`; empty if it is something else.
  static std::string copies(std::string_view text) {
    const auto count = number(next_word(text));
    if (!count || *count < 1 || *count > kMostMembers || next_word(text) != "times") return {};
    const std::string what(text.substr(0, std::min(text.find('}'), text.size())));
    std::string out;
    for (int k = 0; k < *count; ++k) out += (k == 0 ? "" : ",") + what;
    return out;
  }

  core::Result<std::string> member_list(const std::string& name, std::string_view which,
                                        std::size_t column) const {
    auto members = range(which);
    if (const auto one = number(which)) members = MemberRange{*one, *one};
    if (!members)
      return error(column, "expected a number or a range such as {1..3} after `" + name + "`");
    std::string out;
    for (int k = members->low; k <= members->high; ++k)
      out += (out.empty() ? "" : ", ") + name + std::to_string(k);
    return out;
  }

  std::string_view text_;
  int line_;
};

}  // namespace

core::Result<std::string> expand_families(std::string_view text) {
  std::string out;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = text.substr(0, end);
    if (content.find('{') == std::string_view::npos) {  // most lines
      out += content;
    } else {
      SOAPSTONE_ASSIGN_OR_RETURN(const std::string expanded, Line(content, line).run());
      out += expanded;
    }
    out += '\n';
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace soapstone::rules
