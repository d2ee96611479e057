// See mutation_report.h.
#include "cli/verify/mutation_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;
using verifier::MutationCounts;
using verifier::MutationNote;
using verifier::MutationScore;

void add_row(Table& table, std::string name, const MutationCounts& c) {
  table.add_row({std::move(name), std::to_string(c.made), std::to_string(c.wrong()),
                 std::to_string(c.refuted), std::to_string(c.wrong_proved), std::to_string(c.equal),
                 std::to_string(c.open)});
}

std::string counts_table(const MutationScore& score) {
  constexpr auto kRight = Align::kRight;
  Table table({{"change"},
               {"mutants", kRight},
               {"wrong", kRight},
               {"refuted", kRight},
               {"wrong, proved", kRight},
               {"equal, proved", kRight},
               {"open", kRight}});
  for (std::size_t k = 0; k < verifier::kMutationKinds; ++k)
    add_row(table, std::string(to_string(static_cast<verifier::MutationKind>(k))),
            score.by_kind[k]);
  add_row(table, "all mutants", score.total);
  return table.to_string();
}

std::string notes_text(std::string_view title, const std::vector<MutationNote>& notes) {
  std::string text;
  for (const MutationNote& n : notes)
    text += fmt::format("\n{}: {}\n{} ms: {}\n{}", title, n.what, fmt::format("{:.1f}", n.proof_ms),
                        n.detail, n.text);
  return text;
}

ordered_json to_json(const MutationCounts& c) {
  return {{"mutants", c.made},    {"wrong", c.wrong()},
          {"refuted", c.refuted}, {"wrong_proved", c.wrong_proved},
          {"equal", c.equal},     {"open", c.open}};
}

ordered_json to_json(const std::vector<MutationNote>& notes) {
  ordered_json list = ordered_json::array();
  for (const MutationNote& n : notes)
    list.push_back({{"what", n.what}, {"ms", n.proof_ms}, {"detail", n.detail}, {"rule", n.text}});
  return list;
}

ordered_json score_json(const MutationScore& score) {
  ordered_json json{{"origins", score.origins},
                    {"origins_proved", score.origins_proved},
                    {"total", to_json(score.total)},
                    {"share_refuted", score.share_refuted()}};
  for (std::size_t k = 0; k < verifier::kMutationKinds; ++k)
    json["by_change"][to_string(static_cast<verifier::MutationKind>(k))] =
        to_json(score.by_kind[k]);
  json["wrong_and_proved"] = to_json(score.wrong_and_proved);
  json["missed"] = to_json(score.missed);
  json["open"] = to_json(score.open);
  json["slowest_failures"] = to_json(score.slowest_failures);
  json["cpu_s"] = {{"origins", score.origins_cpu_s},
                   {"making", score.making_cpu_s},
                   {"proofs", score.proof_cpu_s},
                   {"refutations", score.refute_cpu_s},
                   {"slow_search", score.search_cpu_s}};
  return json;
}

}  // namespace

std::string mutation_text(const MutationScore& score, bool verbose) {
  std::string text = counts_table(score);
  text += fmt::format("\n{} of {} origins are proved; {:.2f} % of the wrong mutants are refuted, "
                      "{} are proved\n",
                      score.origins_proved, score.origins, 100 * score.share_refuted(),
                      score.total.wrong_proved);
  text += fmt::format(
      "CPU seconds: origins {:.1f}, making {:.1f}, proofs {:.1f}, refutations {:.1f}, slow search "
      "{:.1f}\n",
      score.origins_cpu_s, score.making_cpu_s, score.proof_cpu_s, score.refute_cpu_s,
      score.search_cpu_s);
  text += notes_text("wrong but proved", score.wrong_and_proved);
  if (!verbose) return text;
  text += notes_text("missed by refutation", score.missed);
  text += notes_text("neither proved nor refuted", score.open);
  return text + notes_text("slow failing proof", score.slowest_failures);
}

std::string mutation_json(const MutationScore& score) { return json_text(score_json(score)); }

core::Status require_refuted(const MutationScore& score) {
  if (score.total.wrong_proved == 0) return core::Done{};
  return core::Error{core::ErrorCode::kRequirementNotMet,
                     fmt::format("{} wrong mutants are proved", score.total.wrong_proved),
                     {},
                     "the report shows each with its counterexample: the prover is unsound"};
}

}  // namespace soapstone::cli
