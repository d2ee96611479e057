// A checkpoint as text, and back: a line a region, a line a rewrite.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "search/passes/checkpoint.h"

namespace soapstone::search {
namespace {

using core::Result;
using core::Status;

constexpr int kCheckpointVersion = 2;
constexpr std::string_view kHead =
    "# What a search found in the regions of a model; optimize-graph --resume goes on from here.\n";

template <class Id>
std::string list_text(const std::vector<Id>& ids) {
  std::string text;
  for (const Id id : ids) text += fmt::format("{}{}", text.empty() ? "" : ",", id.value);
  return text;
}

/// The lines of a text, and the words of a line.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// The next line that is neither empty nor a comment.
  bool next_line() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size() - 1) + 1;
      line_ = text_.substr(0, end);
      text_.remove_prefix(end);
      ++number_;
      while (!line_.empty() && (line_.back() == '\n' || line_.back() == '\r'))
        line_.remove_suffix(1);
      line_.remove_prefix(std::min(line_.find_first_not_of(' '), line_.size()));
      if (!line_.empty() && line_[0] != '#') return true;
    }
    line_ = {};
    return false;
  }

  std::string_view word() {
    const std::size_t end = std::min(line_.find(' '), line_.size());
    const std::string_view word = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return word;
  }
  std::string_view rest() { return std::exchange(line_, {}); }

  /// `name=` and what follows it.
  Result<std::string_view> value(std::string_view name) {
    std::string_view text = word();
    if (!text.starts_with(name) || text.substr(name.size()).find('=') != 0)
      return error(fmt::format("expected {}=…", name));
    text.remove_prefix(name.size() + 1);
    return text;
  }

  template <class Number>
  Status parse(std::string_view text, Number& number) const {
    std::from_chars_result read{};
    const char* const end = text.data() + text.size();
    if constexpr (std::is_floating_point_v<Number>) {
      read = std::from_chars(text.data(), end, number);
    } else {
      const bool hex = text.starts_with("0x");
      read = std::from_chars(text.data() + (hex ? 2 : 0), end, number, hex ? 16 : 10);
    }
    if (read.ec == std::errc() && read.ptr == end) return core::Done{};
    return error(fmt::format("expected a number, not `{}`", text));
  }
  template <class Number>
  Status number(std::string_view name, Number& number) {
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string_view text, value(name));
    return parse(text, number);
  }
  template <class Id>
  Status list(std::string_view name, std::vector<Id>& ids) {
    SOAPSTONE_ASSIGN_OR_RETURN(std::string_view text, value(name));
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      std::uint32_t id = 0;
      SOAPSTONE_RETURN_IF_ERROR(parse(text.substr(0, end), id));
      if (id == std::numeric_limits<std::uint32_t>::max()) return error("no graph is that large");
      ids.emplace_back(static_cast<std::size_t>(id));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return core::Done{};
  }
  core::Error error(std::string message) const {
    return core::invalid_input(std::move(message),
                               "give a file that --resume wrote, or the name of a new one")
        .at(fmt::format("line {}", number_));
  }

 private:
  std::string_view text_, line_;
  int number_ = 0;
};

/// `name value` as a line of its own.
Status head_line(Reader& reader, std::string_view name) {
  if (reader.next_line() && reader.word() == name) return core::Done{};
  return reader.error(fmt::format("expected `{}`", name));
}

Status parse_head(Reader& reader, CheckpointIdentity& identity) {
  SOAPSTONE_RETURN_IF_ERROR(head_line(reader, "checkpoint"));
  int version = 0;
  SOAPSTONE_RETURN_IF_ERROR(reader.parse(reader.rest(), version));
  if (version != kCheckpointVersion)
    return reader.error(fmt::format("checkpoints of version {} cannot be read, only {}", version,
                                    kCheckpointVersion));
  SOAPSTONE_RETURN_IF_ERROR(head_line(reader, "model"));
  SOAPSTONE_RETURN_IF_ERROR(reader.parse(reader.rest(), identity.model));
  SOAPSTONE_RETURN_IF_ERROR(head_line(reader, "rules"));
  SOAPSTONE_RETURN_IF_ERROR(reader.parse(reader.rest(), identity.rules));
  SOAPSTONE_RETURN_IF_ERROR(head_line(reader, "costs"));
  identity.costs = reader.rest();
  SOAPSTONE_RETURN_IF_ERROR(head_line(reader, "options"));
  identity.options = reader.rest();
  return core::Done{};
}

Status parse_region(Reader& reader, CheckpointContents& contents, CheckpointEntry*& entry) {
  CheckpointKey key{};
  for (std::uint64_t& part : key) SOAPSTONE_RETURN_IF_ERROR(reader.parse(reader.word(), part));
  entry = &contents.entries[key];
  SOAPSTONE_RETURN_IF_ERROR(reader.number("expanded", entry->expanded));
  SOAPSTONE_RETURN_IF_ERROR(reader.number("whole", entry->expanded_whole));
  SOAPSTONE_RETURN_IF_ERROR(reader.number("built", entry->built));
  SOAPSTONE_RETURN_IF_ERROR(reader.number("duplicates", entry->duplicates));
  SOAPSTONE_RETURN_IF_ERROR(reader.number("before_us", entry->cost_before_us));
  SOAPSTONE_RETURN_IF_ERROR(reader.number("after_us", entry->cost_after_us));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string_view stop, reader.value("stop"));
  for (const RegionStop known :
       {RegionStop::kExhausted, RegionStop::kPatience, RegionStop::kBudget, RegionStop::kMemory}) {
    if (stop != to_string(known)) continue;
    entry->stop = known;
    return core::Done{};
  }
  return reader.error(fmt::format("no search of a region ends with `{}`", stop));
}

Status parse_rewrite(Reader& reader, CheckpointEntry* entry) {
  if (entry == nullptr) return reader.error("a rewrite of no region");
  CheckpointEntry::Rewrite rewrite;
  std::uint32_t rule = 0;
  SOAPSTONE_RETURN_IF_ERROR(reader.number("rule", rule));
  rewrite.rule = core::RuleId(rule);
  SOAPSTONE_RETURN_IF_ERROR(reader.list("nodes", rewrite.nodes));
  SOAPSTONE_RETURN_IF_ERROR(reader.list("inputs", rewrite.inputs));
  entry->rewrites.push_back(std::move(rewrite));
  return core::Done{};
}

}  // namespace

std::string print(const CheckpointContents& contents, const rules::RuleSet& rules) {
  const CheckpointIdentity& identity = contents.identity;
  std::string text(kHead);
  text += fmt::format("checkpoint {}\nmodel 0x{:016x}\nrules 0x{:016x}\ncosts {}\noptions {}\n\n",
                      kCheckpointVersion, identity.model, identity.rules, identity.costs,
                      identity.options);
  for (const auto& [key, entry] : contents.entries) {
    text += fmt::format(
        "region 0x{:016x} 0x{:016x} expanded={} whole={} built={} duplicates={} before_us={} "
        "after_us={} stop={}\n",
        key[0], key[1], entry.expanded, entry.expanded_whole, entry.built, entry.duplicates,
        entry.cost_before_us, entry.cost_after_us, to_string(entry.stop));
    for (const CheckpointEntry::Rewrite& rewrite : entry.rewrites)
      text += fmt::format("  apply rule={} nodes={} inputs={} # {}\n", rewrite.rule.value,
                          list_text(rewrite.nodes), list_text(rewrite.inputs),
                          rules[rewrite.rule].name);
  }
  return text + fmt::format("end {}\n", contents.entries.size());
}

Result<CheckpointContents> parse_checkpoint(std::string_view text) {
  Reader reader(text);
  CheckpointContents contents;
  SOAPSTONE_RETURN_IF_ERROR(parse_head(reader, contents.identity));
  CheckpointEntry* entry = nullptr;
  while (reader.next_line()) {
    const std::string_view what = reader.word();
    if (what == "end") {
      std::size_t count = 0;
      SOAPSTONE_RETURN_IF_ERROR(reader.parse(reader.rest(), count));
      if (count == contents.entries.size()) return contents;
      return reader.error(
          fmt::format("there are {} regions, not {}", contents.entries.size(), count));
    }
    if (what == "region") {
      SOAPSTONE_RETURN_IF_ERROR(parse_region(reader, contents, entry));
    } else if (what == "apply") {
      SOAPSTONE_RETURN_IF_ERROR(parse_rewrite(reader, entry));
    } else {
      return reader.error(fmt::format("expected region, apply or end, not `{}`", what));
    }
  }
  return reader.error("the checkpoint was cut off: its last line is missing");
}

}  // namespace soapstone::search
