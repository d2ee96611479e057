// See import_taso.h. A rule of TASO becomes text in our rule language, which is read like any other
// rule: what the text cannot say is refused there.
#include "rules/taso/import_taso.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "rules/taso/taso_ranks.h"
#include "rules/taso/taso_side.h"
#include "rules/text/rule_parser.h"

namespace soapstone::rules {
namespace {

using core::Polynomial;
using core::Status;
using core::Symbol;
using taso::Operator;
using taso::RuleMessage;
using taso::Side;
using taso::SizeEquations;
using taso::Statement;
using taso::TensorRef;

// Checks that a file holds rules: references, results, inputs.

Status check_reference(TensorRef ref, const std::vector<Operator>& ops, std::size_t before) {
  if (ref.is_input()) return core::Done{};
  if (static_cast<std::size_t>(ref.op) >= before)
    return core::invalid_input(
        fmt::format("operator {} is read, but only {} are before that", ref.op, before));
  const std::size_t outputs = taso::output_count(ops[static_cast<std::size_t>(ref.op)]);
  if (ref.output < 0 || static_cast<std::size_t>(ref.output) >= outputs)
    return core::invalid_input(
        fmt::format("result {} of operator {} is read, which has {}", ref.output, ref.op, outputs));
  return core::Done{};
}

Status check_side(const std::vector<Operator>& ops, const std::string& side) {
  for (std::size_t k = 0; k < ops.size(); ++k)
    for (TensorRef ref : ops[k].inputs)
      if (auto status = check_reference(ref, ops, k); !status)
        return status.error().at(fmt::format("{} operator {}", side, k));
  return core::Done{};
}

bool reads_input(const std::vector<Operator>& ops, std::int32_t id) {
  return std::ranges::any_of(ops, [&](const Operator& op) {
    return std::ranges::any_of(op.inputs, [&](TensorRef ref) { return ref.op == id; });
  });
}

Status check_rule(const RuleMessage& rule) {
  SOAPSTONE_RETURN_IF_ERROR(check_side(rule.source, "source"));
  SOAPSTONE_RETURN_IF_ERROR(check_side(rule.target, "target"));
  if (rule.outputs.empty()) return core::invalid_input("the rule has no results");
  for (const taso::MapOutput& map : rule.outputs) {
    SOAPSTONE_RETURN_IF_ERROR(check_reference(map.source, rule.source, rule.source.size()));
    SOAPSTONE_RETURN_IF_ERROR(check_reference(map.target, rule.target, rule.target.size()));
    if (map.source.is_input()) return core::invalid_input("an input is a result of the source");
    if (map.target.is_input() && !reads_input(rule.source, map.target.op))
      return core::invalid_input(
          fmt::format("the target has input {}, which the source does not read", map.target.op));
  }
  for (const Operator& op : rule.target)
    for (TensorRef ref : op.inputs)
      if (ref.is_input() && !reads_input(rule.source, ref.op))
        return core::invalid_input(
            fmt::format("the target reads input {}, which the source does not", ref.op));
  return core::Done{};
}

// Text.

/// Names for the unknowns that are left: a, b, …, z, a1, ….
class TasoSizeNames {
 public:
  void add(const Polynomial& p) {
    for (Symbol s : p.symbols()) {
      if (std::ranges::find(symbols_, s) != symbols_.end()) continue;
      constexpr std::size_t kLetters = 26;
      const std::size_t k = symbols_.size();
      std::string name(1, static_cast<char>('a' + static_cast<char>(k % kLetters)));
      if (k >= kLetters) name += std::to_string(k / kLetters);
      symbols_.push_back(s);
      table_.intern(name);
    }
  }
  bool knows(const Polynomial& p) const {
    return std::ranges::all_of(p.symbols(),
                               [&](Symbol s) { return index_of(s) < symbols_.size(); });
  }
  /// Precondition: it knows all symbols.
  std::string text(const Polynomial& p) const {
    const Polynomial named = p.substitute([&](Symbol s) {
      return std::optional<Polynomial>(Symbol{static_cast<std::uint32_t>(index_of(s))});
    });
    return named.to_string(table_);
  }

 private:
  std::size_t index_of(Symbol s) const {
    return static_cast<std::size_t>(std::ranges::find(symbols_, s) - symbols_.begin());
  }
  std::vector<Symbol> symbols_;
  core::SymbolTable table_;
};

class ImportedText {
 public:
  ImportedText(const RuleMessage& message, std::size_t free_rank)
      : message_(message), free_rank_(free_rank) {}

  Result<std::string> run(const std::string& name) {
    SOAPSTONE_ASSIGN_OR_RETURN(const taso::Ranks ranks, taso::ranks_of(message_, free_rank_));
    for (const auto& [id, rank] : ranks.inputs) inputs_[id] = input(id, rank);
    Side source("s", inputs_, result_names(true), source_sizes_);
    SOAPSTONE_RETURN_IF_ERROR(add(source, message_.source, ranks.source, "source"));
    target_sizes_ = source_sizes_;
    Side target("t", inputs_, result_names(false), target_sizes_);
    target.allow_groups();
    SOAPSTONE_RETURN_IF_ERROR(add(target, message_.target, ranks.target, "target"));
    std::string text = "rule " + name + "\n";
    for (auto it = inputs_.rbegin(); it != inputs_.rend(); ++it) text += declaration(it->second);
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string where, conditions());
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string left, statements(source, true));
    SOAPSTONE_ASSIGN_OR_RETURN(const std::string right, statements(target, false));
    return text + where + results() + "  source\n" + left + "  target\n" + right;
  }

 private:
  taso::Value input(std::int32_t id, std::size_t rank) {
    taso::Value value{fmt::format("x{}", -static_cast<std::int64_t>(id)), taso::Axes(rank)};
    for (taso::Axis& axis : value.axes) axis.size = source_sizes_.fresh();
    return value;
  }

  std::string results() const {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < message_.outputs.size(); ++k)
      names.push_back(fmt::format("y{}", k));
    return fmt::format("  results {}\n", fmt::join(names, ", "));
  }

  /// Names of results. If a tensor is the result of two outputs, the first names it.
  std::map<TensorRef, std::string> result_names(bool source) const {
    std::map<TensorRef, std::string> names;
    for (std::size_t k = 0; k < message_.outputs.size(); ++k) {
      const taso::MapOutput& map = message_.outputs[k];
      names.try_emplace(source ? map.source : map.target, fmt::format("y{}", k));
    }
    return names;
  }

  static Status add(Side& side, const std::vector<Operator>& ops,
                    const std::vector<std::vector<std::size_t>>& ranks, const std::string& name) {
    for (std::size_t k = 0; k < ops.size(); ++k)
      if (auto status = side.add(ops[k], ranks[k]); !status)
        return status.error().at(fmt::format("{} operator {} (TASO type {})", name, k,
                                             static_cast<std::int32_t>(ops[k].type)));
    return core::Done{};
  }

  std::string declaration(const taso::Value& value) {
    std::vector<std::string> sizes;
    for (const taso::Axis& axis : value.axes) {
      const Polynomial size = source_sizes_.resolve(axis.size);
      names_.add(size);
      sizes.push_back(names_.text(size));
    }
    return fmt::format("  {}: [{}]\n", value.name, fmt::join(sizes, ", "));
  }

  /// Equations of the source that are no plain choice of sizes.
  Result<std::string> conditions() {
    std::string text;
    for (const Polynomial& p : source_sizes_.open()) {
      const Polynomial equation = source_sizes_.resolve(p);
      if (!names_.knows(equation))
        return core::unsupported(
            "the source fits only where windows are as many as something else");
      text += fmt::format("  where {} = 0\n", names_.text(equation));
    }
    return text;
  }

  Result<std::string> size(const Polynomial& p) {
    for (const Polynomial& resolved : {source_sizes_.resolve(p), target_sizes_.resolve(p)})
      if (names_.knows(resolved)) return names_.text(resolved);
    return core::unsupported("nothing in the source says how large the constant is");
  }

  Result<std::string> statements(const Side& side, bool source) {
    std::string text;
    for (const Statement& s : side.statements()) {
      text += fmt::format("    {} = {}({}", fmt::join(s.results, ", "), s.op,
                          fmt::join(s.operands, ", "));
      const char* separator = "; ";
      for (const Statement::Attribute& attribute : s.attributes) {
        std::vector<std::string> sizes;
        for (const Polynomial& p : attribute.sizes) {
          SOAPSTONE_ASSIGN_OR_RETURN(sizes.emplace_back(), size(p));
        }
        text += fmt::format("{}{}=", separator, attribute.name);
        text +=
            attribute.text.empty() ? fmt::format("[{}]", fmt::join(sizes, ", ")) : attribute.text;
        separator = ", ";
      }
      text += ")\n";
    }
    for (std::size_t k = 0; k < message_.outputs.size(); ++k) {
      const taso::MapOutput& map = message_.outputs[k];
      const std::string name = fmt::format("y{}", k);
      const std::string& value = side.value(source ? map.source : map.target).name;
      if (value != name) text += fmt::format("    {} = {}\n", name, value);
    }
    return text;
  }

  const RuleMessage& message_;
  std::size_t free_rank_;
  SizeEquations source_sizes_, target_sizes_;
  std::map<std::int32_t, taso::Value> inputs_;
  TasoSizeNames names_;
};

void import_rule(const RuleMessage& message, std::size_t number, const TasoImportOptions& options,
                 TasoRules& rules) {
  const std::string name = fmt::format("taso_{}", number);
  const auto text = ImportedText(message, options.free_rank).run(name);
  if (!text) {
    rules.skipped.push_back({number, text.error().to_string()});
    return;
  }
  auto rule = parse_instance(*text);
  std::string reason;
  if (!rule) {
    reason = rule.error().message;
    rule = parse_instance(*text, Purpose::kProof);
  }
  if (!rule || rule->empty()) {
    rules.skipped.push_back({number, rule ? "no sizes satisfy it" : rule.error().message});
    return;
  }
  Rule& found = rule->front().rule;
  found.name = found.base_name = name;
  found.description = fmt::format("Rule {} of TASO's file.", number);
  if (reason.empty())
    rules.file.rules.push_back(std::move(found));
  else
    rules.unmatched.push_back({std::move(found), std::move(reason)});
}

}  // namespace

Result<TasoRules> parse_taso_rules(std::string_view bytes, const TasoImportOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto messages, taso::read_taso_file(bytes));
  TasoRules rules;
  for (std::size_t number = 0; number < messages.size(); ++number) {
    if (auto status = check_rule(messages[number]); !status)
      return status.error().at(fmt::format("rule {}", number));
    import_rule(messages[number], number, options, rules);
  }
  return rules;
}

Result<TasoRules> import_taso_rules(const std::filesystem::path& file,
                                    const TasoImportOptions& options) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return core::invalid_input("the file cannot be opened").at(file.string());
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) return core::invalid_input("the file cannot be read").at(file.string());
  auto rules = parse_taso_rules(bytes, options);
  if (!rules) return rules.error().at(file.string());
  for (Rule& rule : rules->file.rules) rule.file = file;
  for (UnmatchedRule& unmatched : rules->unmatched) unmatched.rule.file = file;
  return rules;
}

}  // namespace soapstone::rules
