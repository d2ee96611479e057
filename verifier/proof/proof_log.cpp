// One line for each answer: `impossible KEY...` and `bijection KEY SYMBOL = SUM; ...`, where a sum
// is written as in Linear::to_string().
#include "verifier/proof/proof_log.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "verifier/refutation/parameter_values.h"

namespace soapstone::verifier {
namespace {

constexpr std::string_view kHeader = "soapstone proofs 1\n";
constexpr std::string_view kChecksum = "checksum ";
constexpr std::size_t kKeysPerLine = 8;

std::string checksum_line(std::string_view text) {
  return fmt::format("{}{:016x}\n", kChecksum, core::hash_text(text));
}

/// Takes pieces off the front of a text.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}
  bool at_end() const { return rest_.empty(); }
  bool accept(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  template <class Number>
  std::optional<Number> number(int base = 10) {
    Number value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::optional<Linear> sum();

 private:
  std::optional<Linear> product(std::int64_t coefficient);

  std::string_view rest_;
};

/// `v1*v2`, behind its coefficient.
std::optional<Linear> Scanner::product(std::int64_t coefficient) {
  Linear result = coefficient;
  do {
    if (!accept("v")) return std::nullopt;
    const auto id = number<std::uint32_t>();
    if (!id || *id == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    result = result * Linear(Symbol{*id});
  } while (accept("*"));
  return result;
}

/// `2*v1*v2-v3+4`
std::optional<Linear> Scanner::sum() {
  Linear total;
  bool first = true;
  while (true) {
    const std::int64_t sign = accept("-") ? -1 : accept("+") || first ? 1 : 0;
    if (sign == 0) return total;
    first = false;
    std::int64_t coefficient = 1;
    if (!rest_.starts_with("v")) {
      const auto value = number<std::int64_t>();
      if (!value || *value < 0) return std::nullopt;
      coefficient = *value;
      if (!accept("*")) {
        total = total + Linear(sign * coefficient);
        continue;
      }
    }
    const auto part = product(sign * coefficient);
    if (!part) return std::nullopt;
    total = total + *part;
  }
}

std::string print_record(const ProofRecord& record) {
  std::string text;
  std::size_t column = 0;
  for (std::uint64_t key : record.impossible) {
    if (column % kKeysPerLine == 0) text += column == 0 ? "impossible" : "\nimpossible";
    text += fmt::format(" {:016x}", key);
    ++column;
  }
  if (column > 0) text += "\n";
  for (const auto& [key, bijections] : record.bijections) {
    for (const Substitution& bijection : bijections) {
      text += fmt::format("bijection {:016x}", key);
      for (const auto& [symbol, value] : bijection) {
        text += fmt::format(" v{} = {};", symbol.id, value.to_string());
      }
      text += "\n";
    }
  }
  return text;
}

/// One line of a record. False: not such a line.
bool parse_answer(std::string_view line, ProofRecord& record) {
  Scanner scanner(line);
  if (scanner.accept("impossible")) {
    while (scanner.accept(" ")) {
      const auto key = scanner.number<std::uint64_t>(16);
      if (!key) return false;
      record.impossible.insert(*key);
    }
    return scanner.at_end();
  }
  if (!scanner.accept("bijection ")) return false;
  const auto key = scanner.number<std::uint64_t>(16);
  if (!key) return false;
  Substitution bijection;
  while (scanner.accept(" v")) {
    const auto id = scanner.number<std::uint32_t>();
    if (!id || !scanner.accept(" = ")) return false;
    auto value = scanner.sum();
    if (!value || !scanner.accept(";")) return false;
    bijection.emplace_back(Symbol{*id}, *std::move(value));
  }
  record.bijections[*key].push_back(std::move(bijection));
  return scanner.at_end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  core::Result<std::vector<LoggedProof>> parse() {
    std::vector<LoggedProof> proofs;
    while (position_ < text_.size()) {
      SOAPSTONE_ASSIGN_OR_RETURN(LoggedProof proof, next());
      proofs.push_back(std::move(proof));
    }
    return proofs;
  }

 private:
  core::Error error(const std::string& what) const {
    return core::invalid_input(fmt::format("line {}: {}", line_, what));
  }
  std::string_view take_line() {
    const std::size_t end = std::min(text_.find('\n', position_), text_.size());
    const std::string_view line = text_.substr(position_, end - position_);
    position_ = std::min(end + 1, text_.size());
    ++line_;
    return line;
  }

  /// The rule up to `record`, the record up to `end`.
  core::Result<LoggedProof> next() {
    const std::size_t begin = position_;
    std::size_t end = begin;
    while (position_ < text_.size()) {
      end = position_;
      if (take_line() == "record") break;
    }
    auto file = rules::parse_rules(text_.substr(begin, end - begin));
    if (!file) return error(file.error().message);
    if (file->rules.size() != 1) return error("there is no rule before this record");
    LoggedProof proof{std::move(file->rules[0]), {}};
    if (!proof.rule.parameters.empty()) return error("the rule has parameters");
    while (position_ < text_.size()) {
      const std::string_view line = take_line();
      if (line == "end") return proof;
      try {
        if (!parse_answer(line, proof.record)) return error("not an answer of a proof");
      } catch (const OutOfBudget&) {
        return error("a number that is too large");
      }
    }
    return error("the record does not end");
  }

  std::string_view text_;
  std::size_t position_ = kHeader.size();
  std::size_t line_ = 1;
};

}  // namespace

std::string print_proofs(const std::vector<LoggedProof>& proofs) {
  std::string text(kHeader);
  for (const LoggedProof& proof : proofs) {
    text += rules::print(proof.rule) + "record\n" + print_record(proof.record) + "end\n";
  }
  return text + checksum_line(text);
}

core::Result<std::vector<LoggedProof>> parse_proofs(std::string_view text) {
  if (!text.starts_with(kHeader)) return core::invalid_input("this is not a proof log");
  const std::size_t last = text.rfind(kChecksum);
  if (last == std::string_view::npos || text.substr(last) != checksum_line(text.substr(0, last))) {
    return core::invalid_input("the proof log is damaged: its checksum does not fit");
  }
  return Parser(text.substr(0, last)).parse();
}

namespace {

/// The rule as a text that says nothing but what is proved.
std::string statement(const rules::Rule& rule) {
  rules::Rule plain = rule;
  plain.evidence = {};
  plain.description.clear();
  return rules::print(plain);
}

}  // namespace

core::Status check_subject(const std::vector<LoggedProof>& proofs,
                           std::span<const rules::Rule> instances, int specializations) {
  std::map<std::string, std::string> open;  // statement to name
  for (const rules::Rule& instance : instances)
    for (const rules::Bindings& values : parameter_grid(instance, specializations)) {
      SOAPSTONE_ASSIGN_OR_RETURN(const rules::Rule special, rules::specialize(instance, values));
      // The rule as it is when it was read again.
      SOAPSTONE_ASSIGN_OR_RETURN(const auto again, rules::parse_rules(statement(special)));
      open.emplace(statement(again.rules.at(0)), special.name);
    }
  for (const LoggedProof& proof : proofs)
    if (open.erase(statement(proof.rule)) == 0)
      return core::invalid_input(
          fmt::format("{} is not as it stands in the file of the rule", proof.rule.name));
  if (open.empty()) return core::Done{};
  return core::invalid_input(fmt::format("there is no proof of {}", open.begin()->second));
}

core::Status check_proofs(const std::vector<LoggedProof>& proofs, Solver& solver) {
  if (proofs.empty()) return core::invalid_input("the log holds no proof");
  for (const LoggedProof& proof : proofs) {
    if (const std::string reason = replay_proof(proof.rule, proof.record, solver);
        !reason.empty()) {
      return core::invalid_input(
          fmt::format("the log does not prove {}: {}", proof.rule.name, reason));
    }
  }
  return core::Done{};
}

core::Result<std::size_t> check_proofs(std::string_view text, Solver& solver) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<LoggedProof> proofs, parse_proofs(text));
  SOAPSTONE_RETURN_IF_ERROR(check_proofs(proofs, solver));
  return proofs.size();
}

}  // namespace soapstone::verifier
