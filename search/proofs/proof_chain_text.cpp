// A proof chain as text, and back.
#include "search/proofs/proof_chain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>

#include "core/syntax/lexer.h"

namespace soapstone::search {
namespace {

using core::Result;
using core::Status;
using core::TokenStream;

constexpr std::string_view kDecide = "decide_choices";
constexpr std::string_view kMerge = "merge_duplicates", kFold = "fold_constants";
constexpr std::string_view kDerive = "derive";
/// Version of the format. Version 1 had no derivations, version 2 decided choices where it merged.
constexpr std::uint64_t kVersion = 3;

template <class Id>
std::string ids_text(const std::vector<Id>& ids) {
  std::vector<std::uint32_t> numbers;
  for (const Id id : ids) numbers.push_back(id.value);
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

/// Writes sizes; a negative number, or the bits of a real one, is written in hexadecimal.
std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> texts;
  for (const std::int64_t size : sizes)
    texts.push_back(size < 0 ? fmt::format("0x{:x}", static_cast<std::uint64_t>(size))
                             : fmt::to_string(size));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string derivation_text(const ProofChain& chain, const ChainStep& step) {
  std::string text = fmt::format("{} {} uses={}", kDerive,
                                 core::quote_name(chain.rules[step.rule].name), step.uses.size());
  for (const ChainStep::Use& use : step.uses)
    text += fmt::format("\n    use {} inputs=[{}] sizes=[{}]",
                        core::quote_name(chain.rules[use.rule].name), fmt::join(use.inputs, ", "),
                        sizes_text(use.sizes));
  return text;
}

std::string step_text(const ProofChain& chain, const ChainStep& step) {
  switch (step.kind) {
  case ChainStep::Kind::kDecideChoices:
    return fmt::format("{} nodes={} result=0x{:016x}", kDecide, ids_text(step.nodes), step.result);
  case ChainStep::Kind::kMergeDuplicates:
    return fmt::format("{} result=0x{:016x}", kMerge, step.result);
  case ChainStep::Kind::kFoldConstants:
    return fmt::format("{}{} result=0x{:016x}", kFold,
                       step.nodes.empty() ? "" : " keep=" + ids_text(step.nodes), step.result);
  case ChainStep::Kind::kDerive:
    return derivation_text(chain, step);
  case ChainStep::Kind::kRule:
    break;
  }
  return fmt::format("apply {} nodes={} inputs={} result=0x{:016x}",
                     core::quote_name(chain.rules[step.rule].name), ids_text(step.nodes),
                     ids_text(step.inputs), step.result);
}

/// Parts of a file, each with blank lines for the others, so that its lines have their numbers.
struct Sections {
  std::string head, rules, steps;
};

bool begins_with(std::string_view line, std::string_view word) {
  return line.starts_with(word) && (line.size() == word.size() || line[word.size()] == ' ');
}

Sections sections_of(std::string_view text) {
  Sections sections;
  std::string* current = &sections.head;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    const std::string_view content = line.substr(0, line.find_first_of("\r\n"));
    // Comments above a rule may say anything; above the first one they do not matter.
    if (current == &sections.head && begins_with(content, "rule")) current = &sections.rules;
    if (begins_with(content, "steps")) current = &sections.steps;
    for (std::string* section : {&sections.head, &sections.rules, &sections.steps})
      *section += section == current ? line : std::string_view("\n");
    text.remove_prefix(end);
  }
  return sections;
}

Result<std::uint64_t> parse_number(TokenStream& tokens, std::string_view what) {
  std::string_view digits = tokens.peek().text;
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number, base);
  if (tokens.peek().kind != core::TokenKind::kNumber || read.ec != std::errc() || read.ptr != end)
    return tokens.expected(what);
  tokens.next();
  return number;
}

class StepParser {
 public:
  StepParser(const std::string& text, ProofChain& chain) : tokens_(text), chain_(chain) {}

  Status run() {
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("steps"));
    SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t count, parse_number(tokens_, "their number"));
    while (!tokens_.at_end()) SOAPSTONE_RETURN_IF_ERROR(parse_step());
    if (chain_.steps.size() == count) return core::Done{};
    return tokens_.error(fmt::format("there are {} steps, not {}", chain_.steps.size(), count));
  }

 private:
  Status parse_step() {
    ChainStep step;
    if (tokens_.accept(kDerive)) return parse_derivation(step);
    if (tokens_.accept(kDecide)) {
      step.kind = ChainStep::Kind::kDecideChoices;
      SOAPSTONE_RETURN_IF_ERROR(parse_list("nodes", step.nodes));
    } else if (tokens_.accept(kMerge)) {
      step.kind = ChainStep::Kind::kMergeDuplicates;
    } else if (tokens_.accept(kFold)) {
      step.kind = ChainStep::Kind::kFoldConstants;
      if (tokens_.peek().text == "keep") SOAPSTONE_RETURN_IF_ERROR(parse_list("keep", step.nodes));
    } else {
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("apply"));
      SOAPSTONE_ASSIGN_OR_RETURN(step.rule, parse_rule());
      SOAPSTONE_RETURN_IF_ERROR(parse_list("nodes", step.nodes));
      if (step.nodes.empty()) return tokens_.error("a match has at least one node");
      SOAPSTONE_RETURN_IF_ERROR(parse_list("inputs", step.inputs));
    }
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("result"));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("="));
    SOAPSTONE_ASSIGN_OR_RETURN(step.result, parse_number(tokens_, "the hash of a graph"));
    chain_.steps.push_back(std::move(step));
    return core::Done{};
  }

  Status parse_derivation(ChainStep& step) {
    step.kind = ChainStep::Kind::kDerive;
    SOAPSTONE_ASSIGN_OR_RETURN(step.rule, parse_rule());
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("uses"));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("="));
    SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t count, parse_number(tokens_, "their number"));
    while (step.uses.size() < count) {
      SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("use"));
      ChainStep::Use use;
      SOAPSTONE_ASSIGN_OR_RETURN(use.rule, parse_rule());
      SOAPSTONE_RETURN_IF_ERROR(parse_list("inputs", use.inputs));
      SOAPSTONE_RETURN_IF_ERROR(parse_list("sizes", use.sizes));
      step.uses.push_back(std::move(use));
    }
    step.result = chain_.steps.empty() ? chain_.input : chain_.steps.back().result;
    chain_.steps.push_back(std::move(step));
    return core::Done{};
  }

  Result<std::size_t> parse_rule() {
    const core::Token at = tokens_.peek();
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string name, tokens_.expect_name("the name of a rule"));
    const auto found = std::ranges::find(chain_.rules, name, &rules::Rule::name);
    if (found == chain_.rules.end())
      return TokenStream::error_at(at, "the chain has no rule " + core::quote(name));
    return static_cast<std::size_t>(found - chain_.rules.begin());
  }

  template <class Id>
  Status parse_list(std::string_view name, std::vector<Id>& ids) {
    constexpr bool kAnyNumber = std::is_same_v<Id, std::int64_t>;
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(name));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("="));
    SOAPSTONE_RETURN_IF_ERROR(tokens_.expect("["));
    while (!tokens_.accept("]")) {
      if (!ids.empty()) SOAPSTONE_RETURN_IF_ERROR(tokens_.expect(","));
      const core::Token at = tokens_.peek();
      SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t id, parse_number(tokens_, "a number"));
      if (!kAnyNumber && id >= std::numeric_limits<std::uint32_t>::max())
        return TokenStream::error_at(at, "no graph is that large");
      ids.push_back(static_cast<Id>(id));
    }
    return core::Done{};
  }

  TokenStream tokens_;
  ProofChain& chain_;
};

Status parse_head(const std::string& text, ProofChain& chain) {
  TokenStream tokens(text);
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("chain"));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto version, parse_number(tokens, "the version"));
  if (version < 1 || version > kVersion)
    return tokens.error(
        fmt::format("chains of version {} cannot be read, only up to {}", version, kVersion));
  SOAPSTONE_RETURN_IF_ERROR(tokens.expect("input"));
  SOAPSTONE_ASSIGN_OR_RETURN(chain.input, parse_number(tokens, "the hash of a graph"));
  if (tokens.at_end()) return core::Done{};
  return tokens.expected("`rule` or `steps`");
}

}  // namespace

std::string print(const ProofChain& chain) {
  std::string text = "# How a model was rewritten. compare-graphs --proof proves each rule and "
                     "applies it again.\n";
  text += fmt::format("chain {}\ninput 0x{:016x}\n\n", kVersion, chain.input);
  for (const rules::Rule& rule : chain.rules) text += rules::print(rule) + "\n";
  text += fmt::format("steps {}\n", chain.steps.size());
  for (const ChainStep& step : chain.steps) text += "  " + step_text(chain, step) + "\n";
  return text;
}

Result<ProofChain> parse_chain(std::string_view text) {
  const Sections sections = sections_of(text);
  ProofChain chain;
  SOAPSTONE_RETURN_IF_ERROR(parse_head(sections.head, chain));
  SOAPSTONE_ASSIGN_OR_RETURN(auto file, rules::parse_rules(sections.rules));
  chain.rules = std::move(file.rules);
  for (rules::Rule& rule : chain.rules) rule.evidence = {};
  SOAPSTONE_RETURN_IF_ERROR(StepParser(sections.steps, chain).run());
  return chain;
}

}  // namespace soapstone::search
