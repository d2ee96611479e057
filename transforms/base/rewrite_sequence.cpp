#include "transforms/base/rewrite_sequence.h"

#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/base/hash.h"

namespace soapstone::transforms {

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

OperatorNames operators_of_transforms() {
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

/// Calls `use` for what is no number in a list, and for each that is, as `use(text, number)`.
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
    if (read.ec == std::errc() && read.ptr == end && number > 1) {
      use(text.substr(done, begin - done), std::optional(number));
      done = k;
    }
    --k;
  }
  use(text.substr(done), std::optional<std::int64_t>());
}

using SizeSet = std::set<std::int64_t>;

/// All numbers in lists.
SizeSet numbers_of(std::string_view text) {
  SizeSet numbers;
  for_each_size(text, [&](std::string_view, std::optional<std::int64_t> number) {
    if (number) numbers.insert(*number);
  });
  return numbers;
}

/// Numbers that are products of small numbers which stand side by side in a list.
SizeSet products_of_small_sizes(std::string_view text) {
  SizeSet products;
  const SizeSet numbers = numbers_of(text);
  for (std::size_t list = text.find('['); list != text.npos; list = text.find('[', list + 1)) {
    std::vector<std::int64_t> running;  // products that end here
    for_each_size(text.substr(list, text.find(']', list) + 1 - list),
                  [&](std::string_view between, std::optional<std::int64_t> number) {
                    // Something else stands between them.
                    if (!number || *number >= kSmallestOpen || between.size() > 2) running.clear();
                    if (!number || *number >= kSmallestOpen) return;
                    running.push_back(1);
                    for (std::int64_t& product : running) {
                      product *= *number;
                      if (product >= kSmallestOpen && numbers.contains(product))
                        products.insert(product);
                    }
                  });
  }
  return products;
}

/// The text with symbols for large numbers.
class OpenText {
 public:
  /// `factors`: what stays, and what numbers may be multiples of symbols by. None: any small number
  /// is such a factor.
  OpenText(std::string_view text, std::optional<SizeSet> factors)
      : text_(text), factors_(std::move(factors)) {
    for (const std::int64_t number : numbers_of(text))
      if (as_product(number).empty()) symbols_.insert(number);
  }

  bool has_symbols() const { return !symbols_.empty(); }
  std::string text() const {
    std::string open;
    for_each_size(text_, [&](std::string_view before, std::optional<std::int64_t> number) {
      open += before;
      if (number) open += as_product(*number);
    });
    return open;
  }

 private:
  bool is_factor(std::int64_t number) const {
    return factors_ ? factors_->contains(number) : number < kSmallestOpen;
  }

  /// The number as a product of a factor and of numbers that have symbols. Empty: it is none.
  std::string as_product(std::int64_t number) const {
    if (number < kSmallestOpen || is_factor(number)) return std::to_string(number);
    for (auto symbol = symbols_.rbegin(); symbol != symbols_.rend(); ++symbol) {
      if (number % *symbol != 0) continue;
      const std::int64_t rest = number / *symbol;
      if (rest == 1) return fmt::format("u{}", *symbol);
      if (rest < kSmallestOpen && !is_factor(rest)) continue;
      if (const std::string its = as_product(rest); !its.empty())
        return fmt::format("{}*u{}", its, *symbol);
    }
    return "";
  }

  std::string_view text_;
  std::optional<SizeSet> factors_;
  SizeSet symbols_;
};

}  // namespace

std::vector<std::string> with_open_sizes(std::string_view text) {
  std::vector<std::string> texts;
  std::vector<OpenText> ways{OpenText(text, std::nullopt)};
  if (SizeSet products = products_of_small_sizes(text); !products.empty())
    ways.emplace_back(text, std::move(products));
  for (const OpenText& open : ways) {
    if (!open.has_symbols()) continue;
    std::string now = open.text();
    if (texts.empty() || texts.back() != now) texts.push_back(std::move(now));
  }
  return texts;
}

std::optional<Rule> made_rule(const RewriteStep& step, const std::string& text) {
  auto parsed = rules::parse_rules(text);
  if (!parsed || parsed->rules.size() != 1) return std::nullopt;
  Rule& rule = parsed->rules.front();
  // Who replays its proof looks for sizes to try it at.
  if (rule.source.symbols().size() > 0 && !has_sizes(rule, 1)) return std::nullopt;
  rule.name = rule_name(text);
  rule.description = step.description;
  rule.floats = step.floats;
  rule.evidence = {rules::Evidence::Kind::kProved, "when it is first used"};
  rule.is_proved_on_demand = true;
  return std::move(rule);
}

}  // namespace soapstone::transforms
