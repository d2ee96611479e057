// See compare_report.h.
#include "cli/compare/compare_report.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/equivalence/equivalence_report.h"
#include "cli/reports/json_text.h"
#include "cli/terminal/table.h"

namespace soapstone::cli {
namespace {

using nlohmann::ordered_json;

std::string replay_text(const jobs::CompareRequest& request, const jobs::ProofCheck& proof) {
  return fmt::format(
      "{}: {} steps hold, by {} rules proved here in {:.0f} ms; they lead from {} to "
      "{}\n",
      request.proof, proof.steps, proof.rules, proof.proof_cpu_ms, request.a, request.b);
}

ordered_json replay_json(const std::optional<jobs::ProofCheck>& proof) {
  if (!proof) return nullptr;
  return {{"steps", proof->steps},
          {"rules", proof->rules},
          {"proofs", proof->proofs},
          {"proof_cpu_ms", proof->proof_cpu_ms}};
}

std::string verdict_of_judge(const search::JudgeReport& judge) {
  if (!judge.looked)
    return fmt::format("no independent runtime has compared them: {}", judge.reason);
  return fmt::format("{} finds them {} on {} samples ({}){}{}", judge.runtime,
                     judge.equivalence.equal ? "equal" : "NOT EQUAL", judge.equivalence.samples,
                     largest_error_text(judge.equivalence), judge.note.empty() ? "" : "; ",
                     judge.note);
}

std::string first_difference_text(const search::EquivalenceReport& report, std::string_view by) {
  if (!report.difference) return {};
  const search::Difference& d = *report.difference;
  return fmt::format("{}: on {}, {} {}\n", by, d.input,
                     d.output.empty() ? std::string("it") : "output " + d.output, d.what);
}

std::string_view verdict_text(const jobs::CompareOutcome& outcome) {
  switch (outcome.verdict()) {
  case jobs::CompareOutcome::Verdict::kEqual:
    return "equal";
  case jobs::CompareOutcome::Verdict::kDifferent:
    return "NOT EQUAL";
  case jobs::CompareOutcome::Verdict::kNotDecided:
    return "NOT DECIDED";
  }
  return "";
}

/// Says how far nodes that cannot be run were compared.
std::string cut_text(const search::EquivalenceReport& report) {
  std::string text;
  if (report.cut_nodes > 0) {
    text += fmt::format("\n{} nodes cannot be run here: what they read was compared, and what they "
                        "compute replaced by random numbers.\n",
                        report.cut_nodes);
  }
  if (!report.unmatched.empty()) {
    text += fmt::format("{} such nodes have no counterpart in the other model, with the same "
                        "attributes and operands; the first is {}.\n",
                        report.unmatched.size(), report.unmatched.front());
  }
  if (report.cut_outputs > 0) {
    text += fmt::format("{} results behind them were not compared here, as their sizes are not "
                        "known.\n",
                        report.cut_outputs);
  }
  return text;
}

std::string numbers_text(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome) {
  const search::EquivalenceReport& report = *outcome.numbers;
  const search::JudgeReport& judge = outcome.judge;
  Table table({{"output"}, {"largest error", Align::kRight}, {"relative", Align::kRight}, {""}});
  for (const search::OutputError& output : report.outputs) {
    table.add_row({output.name, fmt::format("{:.2e}", output.max_abs_error),
                   fmt::format("{:.2e}", output.max_rel_error),
                   output.equal ? "equal" : "differs"});
  }
  std::string text = fmt::format("{} and {}: {} on {} samples\n{}\n\n{}", request.a, request.b,
                                 verdict_text(outcome), report.samples, verdict_of_judge(judge),
                                 table.to_string());
  text += first_difference_text(report, "first difference here");
  if (judge.looked)
    text += first_difference_text(judge.equivalence, "first difference in " + judge.runtime);
  const std::size_t overflowed = report.overflowed() + judge.equivalence.overflowed();
  if (overflowed > 0) {
    text +=
        fmt::format("\non inputs up to the ends of their types {} results overflow otherwise in "
                    "{} than in {}\n",
                    overflowed, request.b, request.a);
  }
  if (report.ill_conditioned > 0) {
    text +=
        fmt::format("\non {} samples rounding alone moves the results of {} by more than 5 %: that "
                    "both agree there says little\n",
                    report.ill_conditioned, request.a);
  }
  return text + cut_text(report);
}

ordered_json number_or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::string_view verdict_word(const jobs::CompareOutcome& outcome) {
  switch (outcome.verdict()) {
  case jobs::CompareOutcome::Verdict::kDifferent:
    return "different";
  case jobs::CompareOutcome::Verdict::kNotDecided:
    return "not decided";
  case jobs::CompareOutcome::Verdict::kEqual:
    break;
  }
  return verdict_text(outcome);
}

ordered_json numbers_json(const jobs::CompareRequest& request,
                          const jobs::CompareOutcome& outcome) {
  const search::EquivalenceReport& report = *outcome.numbers;
  const search::JudgeReport& judge = outcome.judge;
  return {{"a", request.a},
          {"b", request.b},
          {"verdict", verdict_word(outcome)},
          {"equal", report.equal},
          {"samples", report.samples},
          {"rtol", number_or_null(request.equivalence.rtol)},
          {"atol", number_or_null(request.equivalence.atol)},
          {"cut_nodes", report.cut_nodes},
          {"unmatched_nodes", report.unmatched},
          {"cut_outputs", report.cut_outputs},
          {"ill_conditioned", report.ill_conditioned},
          {"difference", difference_json(report.difference)},
          {"judge", judge_json(judge)},
          {"outputs", outputs_json(report)}};
}

}  // namespace

std::string compare_text(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome) {
  if (!outcome.numbers) return replay_text(request, *outcome.proof);
  const std::string text = numbers_text(request, outcome);
  return outcome.proof ? text + "\n" + replay_text(request, *outcome.proof) : text;
}

std::string compare_json(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome) {
  ordered_json json = outcome.numbers ? numbers_json(request, outcome)
                                      : ordered_json{{"a", request.a}, {"b", request.b}};
  json["proof"] = replay_json(outcome.proof);
  return json_text(json);
}

core::Error not_equal(const jobs::CompareRequest& request) {
  const auto& [rtol, atol] = std::pair(request.equivalence.rtol, request.equivalence.atol);
  return {core::ErrorCode::kNotEquivalent,
          fmt::format("{} does not compute what {} does", request.b, request.a),
          {},
          rtol || atol ? fmt::format("differences up to --rtol {:g} and --atol {:g} are tolerated",
                                     rtol.value_or(0), atol.value_or(0))
                       : "the difference is more than rounding explains; --rtol tolerates more"};
}

core::Error not_decided(const jobs::CompareRequest& request, const jobs::CompareOutcome& outcome) {
  return {
      core::ErrorCode::kNotDecided,
      fmt::format("whether {} computes what {} does is not decided: they have nodes that cannot "
                  "be run here and do not correspond, and no runtime has run both ({})",
                  request.b, request.a, outcome.judge.reason),
      {},
      "install ONNX Runtime (pip install onnxruntime) or name a Python that has it (--python); "
      "it runs whole models"};
}

}  // namespace soapstone::cli
