#include "rules/rule/plan.h"

#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash.h"

namespace soapstone::rules {

std::vector<std::size_t> depths_of(const core::Graph& graph) {
  std::vector<std::size_t> depths(graph.node_bound());
  for (const core::NodeId id : graph.order()) {
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid() || !graph.tensor(input).producer.valid() ||
          graph.is_constant_expression(input))
        continue;
      depths[id.index()] =
          std::max(depths[id.index()], depths[graph.tensor(input).producer.index()] + 1);
    }
  }
  return depths;
}

OperatorNames operators_of_plans() {
  return {"add", "concat", "einsum",     "expand",  "eye",   "full",  "gather", "matmul",   "mul",
          "neg", "pad",    "reduce_sum", "reshape", "slice", "split", "sub",    "transpose"};
}

std::string rule_name(std::string_view text) {
  const std::size_t begin = std::string_view("rule ").size();
  return fmt::format("{}[{:016x}]", text.substr(begin, text.find('\n') - begin),
                     core::hash_text(text));
}

namespace {

/// Numbers from here on are sizes of the graph; those below say what an operator does.
constexpr std::int64_t kSmallestOpen = 8;

/// Calls `use` for what is no such number, and for each that is, as `use(text, number)`.
template <class Use>
void for_each_size(std::string_view text, Use use) {
  std::size_t done = 0;
  int depth = 0;
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t k = 0; k < text.size(); ++k) {
    depth += text[k] == '[' ? 1 : text[k] == ']' ? -1 : 0;
    if (depth == 0 || !is_word(text[k])) continue;
    const std::size_t begin = k;
    while (k < text.size() && (is_word(text[k]) || text[k] == '.' || text[k] == '_')) ++k;
    std::int64_t number = 0;
    const char* const end = text.data() + k;
    const auto read = std::from_chars(text.data() + begin, end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= kSmallestOpen) {
      use(text.substr(done, begin - done), std::optional(number));
      done = k;
    }
    --k;
  }
  use(text.substr(done), std::optional<std::int64_t>());
}

/// The number as a product of a small one and of numbers that have symbols. Empty: it is none.
std::string as_product(std::int64_t number, const std::set<std::int64_t>& symbols) {
  for (auto symbol = symbols.rbegin(); symbol != symbols.rend(); ++symbol) {
    if (number % *symbol != 0) continue;
    const std::int64_t rest = number / *symbol;
    if (rest == 1) return fmt::format("u{}", *symbol);
    if (rest < kSmallestOpen) return fmt::format("{}*u{}", rest, *symbol);
    if (const std::string its = as_product(rest, symbols); !its.empty())
      return fmt::format("{}*u{}", its, *symbol);
  }
  return "";
}

}  // namespace

std::optional<std::string> with_open_sizes(std::string_view text) {
  std::set<std::int64_t> numbers, symbols;
  for_each_size(text, [&](std::string_view, std::optional<std::int64_t> number) {
    if (number) numbers.insert(*number);
  });
  if (numbers.empty()) return std::nullopt;
  for (const std::int64_t number : numbers)
    if (as_product(number, symbols).empty()) symbols.insert(number);
  std::string open;
  for_each_size(text, [&](std::string_view before, std::optional<std::int64_t> number) {
    open += before;
    if (number) open += as_product(*number, symbols);
  });
  return open;
}

std::optional<Rule> made_rule(const PlanStep& step, const std::string& text) {
  auto parsed = parse_rules(text);
  if (!parsed || parsed->rules.size() != 1) return std::nullopt;
  Rule& rule = parsed->rules.front();
  // Who replays its proof looks for sizes to try it at.
  if (rule.source.symbols().size() > 0 && !check(rule, 1, 1).ok()) return std::nullopt;
  rule.name = rule_name(text);
  rule.description = step.description;
  rule.floats = step.floats;
  rule.evidence = {Evidence::Kind::kProved, "when it is first used"};
  rule.is_proved_on_demand = true;
  return std::move(rule);
}

}  // namespace soapstone::rules
