// See belief.h.
#include "jobs/rules/belief.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "jobs/rules/proof_cache.h"
#include "jobs/rules/shipped_rules.h"
#include "rules/rule/families.h"
#include "rules/text/evidence.h"
#include "verifier/batch.h"
#include "verifier/verdict_evidence.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;
using rules::Evidence;
using rules::EvidenceLine;
using rules::Rule;

/// The instances of one rule.
using Family = std::span<Rule>;

/// A verdict on a rule as one line: an evidence line, or why it has no proof.
constexpr std::string_view kProof = "proof ", kUnproved = "unproved ";

std::string line_of(const verifier::RuleVerdict& verdict) {
  if (verdict.kind == verifier::VerdictKind::kProved)
    return rules::to_string(verifier::evidence_of(verdict), verdict.rule);
  std::string reason = verdict.kind == verifier::VerdictKind::kRefuted
                           ? "it is wrong: " + verdict.refutation->text
                           : verdict.reason;
  std::ranges::replace(reason, '\n', ' ');
  return std::string(kUnproved) + reason;
}

/// The reverse. None: not such a line.
std::optional<EvidenceLine> parse_line(std::string_view line) {
  if (line.starts_with(kUnproved))
    return EvidenceLine{{Evidence::Kind::kNone, std::string(line.substr(kUnproved.size()))}};
  if (!line.starts_with(kProof)) return std::nullopt;
  const std::size_t digest = std::min(line.rfind("; rule "), line.size());
  auto parsed = rules::parse_evidence(Evidence::Kind::kProved,
                                      line.substr(kProof.size(), digest - kProof.size()));
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

std::string label_text(const rules::FloatTypes& types, rules::FloatBehavior floats,
                       const std::optional<rules::Edges>& edges) {
  return fmt::format("types: {}; floats: {}; edges: {}", rules::to_string(types),
                     rules::to_string(floats), edges ? rules::to_string(*edges) : "unknown");
}

/// Puts what was found in place of what the file says. Who says more of roundings than was found
/// may have a reason; who says less is corrected.
void apply_line(const EvidenceLine& found, const Family& family, const Context& context) {
  const Rule& first = family.front();
  const bool proved = found.evidence.kind == Evidence::Kind::kProved;
  const bool claimed = first.types.known() && first.edges.has_value();
  const auto floats = claimed ? std::max(first.floats, found.floats) : found.floats;
  const std::string before = label_text(first.types, first.floats, first.edges);
  const std::string now = label_text(found.types, floats, found.edges);
  if (claimed && proved && before != now)
    context.progress.log(core::LogLevel::kWarning,
                         fmt::format("{}: rule {} is labeled `{}`; what was found here counts: "
                                     "`{}`",
                                     rules::place_of(first), first.base_name, before, now));
  for (Rule& rule : family) {
    if (!proved) {
      rule.evidence = found.evidence;
      continue;
    }
    rules::put_label(found, rule);
    rule.floats = floats;
  }
}

/// Proves those families, and keeps what was found.
core::Status prove(const std::vector<Family>& families, const ProofCache& cache,
                   const std::vector<std::string>& keys, const Context& context) {
  std::vector<Rule> all;
  for (const Family& family : families) all.insert(all.end(), family.begin(), family.end());
  const fs::path& file = families.front().front().file;
  context.progress.stage(fmt::format("proving {} rules of {}", families.size(),
                                     file.empty() ? "a text" : file.filename().string()));
  const auto verdicts = verifier::verify_all(all, {}, context.progress, context.stop);
  SOAPSTONE_RETURN_IF_ERROR(context.check_interrupt());
  for (std::size_t k = 0; k < families.size() && k < verdicts.size(); ++k) {
    const std::string line = line_of(verdicts[k]);
    cache.put(keys[k], line);
    if (const auto found = parse_line(line)) apply_line(*found, families[k], context);
  }
  return core::Done{};
}

core::Status prove_all(std::vector<Rule>& rules, const Context& context) {
  const ProofCache cache(context.progress);
  std::vector<Family> open;
  std::vector<std::string> keys;
  for (const Family family : rules::families(std::span(rules))) {
    std::string key = ProofCache::key(family);
    const auto known = cache.find(key);
    const auto line = known ? parse_line(*known) : std::nullopt;
    if (line) {
      apply_line(*line, family, context);
    } else {
      open.push_back(family);
      keys.push_back(std::move(key));
    }
  }
  return open.empty() ? core::Status(core::Done{}) : prove(open, cache, keys, context);
}

/// Lines of another version prove nothing: what was wrong with it is why there is a new one.
void refuse_other_versions(std::vector<Rule>& rules) {
  const std::string version = fmt::format("verifier {}", verifier::kVersion);
  for (Rule& rule : rules) {
    if (rule.evidence.kind != Evidence::Kind::kProved) continue;
    bool same = false;
    std::istringstream parts(rule.evidence.detail);
    for (std::string part; std::getline(parts, part, ';');)
      same = same || part.substr(std::min(part.find_first_not_of(' '), part.size())) == version;
    if (!same)
      rule.evidence = {Evidence::Kind::kNone, fmt::format("its proof is not of {}", version)};
  }
}

}  // namespace

core::Result<rules::RuleFile> read_believed(const fs::path& file, bool trust_proofs,
                                            const Context& context) {
  // The bytes that are hashed are those that are parsed, though the file may change meanwhile.
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(file));
  const bool shipped = is_shipped(text);
  const auto reading = shipped ? rules::RuleReading::kAsWritten : rules::RuleReading::kInstances;
  SOAPSTONE_ASSIGN_OR_RETURN(rules::RuleFile parsed, rules::parse_rules(text, file, reading));
  if (shipped) return parsed;
  if (trust_proofs) {
    refuse_other_versions(parsed.rules);
  } else {
    SOAPSTONE_RETURN_IF_ERROR(prove_all(parsed.rules, context));
  }
  return parsed;
}

core::Result<std::vector<Rule>> parse_believed(const std::string& text, const Context& context) {
  SOAPSTONE_ASSIGN_OR_RETURN(rules::RuleFile parsed, rules::parse_rules(text));
  SOAPSTONE_RETURN_IF_ERROR(prove_all(parsed.rules, context));
  return std::move(parsed.rules);
}

}  // namespace soapstone::jobs
