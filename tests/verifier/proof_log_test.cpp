#include "verifier/proof/proof_log.h"

#include <gtest/gtest.h>

#include "core/base/hash.h"
#include "tests/support/rules.h"
#include "verifier/questions/z3_solver.h"

#include <fmt/format.h>

namespace soapstone::verifier {
namespace {

constexpr const char* kAssociate = R"(
rule associate
  x: [m, k]   a: [k, n]   b: [n, p]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)
)";
constexpr const char* kClip = R"(
rule clip_twice
  x: [n]
  source
    t = clip(x; min=0.0, max=6.0)
    y = clip(t; min=1.0, max=3.0)
  target
    y = clip(x; min=1.0, max=3.0)
)";

std::string log_of(const std::vector<std::string>& texts) {
  const auto solver = make_z3_solver();
  std::vector<LoggedProof> proofs;
  for (const std::string& text : texts) {
    const rules::Rule rule = rule_of(text);
    const Verdict verdict = verify(rule, *solver, {.keep_record = true});
    EXPECT_EQ(verdict.kind, VerdictKind::kProved) << verdict.reason;
    proofs.push_back({rule, *verdict.record});
  }
  return print_proofs(proofs);
}

std::string sealed(std::string text) {
  text.resize(text.rfind("checksum "));
  return text + fmt::format("checksum {:016x}\n", core::hash_text(text));
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return sealed(text.replace(at, what.size(), with));
}

TEST(ProofLog, IsReplayedWithoutTheGuesser) {
  const std::string log = log_of({kMergeMatmuls, kAssociate, kClip});
  const auto solver = make_z3_solver();
  const auto checked = check_proofs(log, *solver);
  ASSERT_TRUE(checked.ok()) << checked.error().to_string();
  EXPECT_EQ(*checked, 3u);
  const auto proofs = parse_proofs(log);
  ASSERT_TRUE(proofs.ok());
  EXPECT_EQ(print_proofs(*proofs), log);
}

TEST(ProofLog, NeedsItsAnswers) {
  const auto solver = make_z3_solver();
  const rules::Rule rule = rule_of(kAssociate);
  EXPECT_NE(replay_proof(rule, {}, *solver), "");
}

TEST(ProofLog, AnyDamagedByteIsNoticed) {
  const std::string log = log_of({kAssociate});
  const auto solver = make_z3_solver();
  for (std::size_t k = 0; k < log.size(); k += 7) {
    std::string damaged = log;
    damaged[k] = static_cast<char>(damaged[k] ^ 1);
    EXPECT_FALSE(check_proofs(damaged, *solver).ok()) << "byte " << k;
  }
  EXPECT_FALSE(check_proofs(log.substr(0, log.size() / 2), *solver).ok());
  EXPECT_FALSE(check_proofs("", *solver).ok());
}

/// A forger who knows the format, and seals the log again.
TEST(ProofLog, AWrongRuleIsNotProvedByAnyRecord) {
  const auto solver = make_z3_solver();
  const std::string log = log_of({R"(
rule associate_squares
  x: [n, n]   a: [n, n]   b: [n, n]
  source
    t = matmul(x, a)
    y = matmul(t, b)
  target
    u = matmul(a, b)
    y = matmul(x, u)
)"});
  EXPECT_TRUE(check_proofs(sealed(log), *solver).ok());
  const std::string wrong = replaced(log, "matmul(x, u)", "matmul(u, x)");
  ASSERT_TRUE(parse_proofs(wrong).ok());
  const auto checked = check_proofs(wrong, *solver);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("does not prove"), std::string::npos);
}

TEST(ProofLog, AnEmptyLogProvesNothing) {
  const auto solver = make_z3_solver();
  const std::string log = sealed("soapstone proofs 1\nchecksum ");
  ASSERT_TRUE(parse_proofs(log).ok()) << "it is well formed";
  const auto checked = check_proofs(log, *solver);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message, "the log holds no proof");
}

TEST(ProofLog, IsOfTheRuleAsItStands) {
  const auto proofs = parse_proofs(log_of({kAssociate}));
  ASSERT_TRUE(proofs.ok());
  const rules::Rule rule = rule_of(kAssociate);
  EXPECT_TRUE(check_subject(*proofs, std::span(&rule, 1), 8).ok());
  const rules::Rule other = rule_of(kMergeMatmuls);
  EXPECT_FALSE(check_subject(*proofs, std::span(&other, 1), 8).ok());
  std::string text = kAssociate;
  text.insert(text.find("  source"), "  where n >= 2\n");
  const rules::Rule guarded = rule_of(text);
  EXPECT_FALSE(check_subject(*proofs, std::span(&guarded, 1), 8).ok()) << "another guard";
  const std::vector<rules::Rule> both = {rule, guarded};
  const auto missing = check_subject(*proofs, both, 8);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("there is no proof of"), std::string::npos);
}

TEST(ProofLog, AWrongContradictionIsNotConfirmed) {
  const auto solver = make_z3_solver();
  const std::vector<Fact> facts{at_least(Symbol{0}, 3)};
  ProofRecord record;
  record.impossible.insert(Witness::key(facts));
  Witness witness(record);
  const Budget budget(1, 1);
  Oracle oracle({}, {}, *solver, witness, budget);
  EXPECT_TRUE(oracle.confirm_all());
  EXPECT_FALSE(oracle.possible(facts));  // as the record says
  EXPECT_FALSE(oracle.confirm_all());
}

TEST(ProofLog, TheRecordOfAnotherProofDoesNotHelp) {
  const auto solver = make_z3_solver();
  const Verdict other = verify(rule_of(kMergeMatmuls), *solver, {.keep_record = true});
  ASSERT_TRUE(other.record);
  EXPECT_NE(replay_proof(rule_of(kAssociate), *other.record, *solver), "");
}

TEST(ProofLog, BijectionsAreChecked) {
  const auto solver = make_z3_solver();
  const std::string log = log_of({kAssociate});
  const std::size_t at = log.find("bijection");
  ASSERT_NE(at, std::string::npos);
  const std::size_t value = log.find(" = v", at);
  // Twice the value is no bijection of the integers.
  const std::string doubled = sealed(std::string(log).replace(value, 3, " = 2*"));
  ASSERT_TRUE(parse_proofs(doubled).ok());
  EXPECT_FALSE(check_proofs(doubled, *solver).ok());
}

}  // namespace
}  // namespace soapstone::verifier
