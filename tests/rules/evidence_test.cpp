// Lines that say why a rule may be believed: put into files, and void once the rule is edited.
#include "rules/text/evidence.h"

#include <fmt/format.h>

#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

const char* const kPlain = R"(# Says why.
rule product
  x: [n, m]   a: [m]
  source
    t = mul(x, a)
    y = neg(t)
  target
    u = neg(x)
    y = mul(u, a)
)";

EvidenceLine proof() {
  Edges edges;
  edges.note({core::DataType::kFloat16, EdgeEffect::kOverflow, EdgeReach::kOrdinary});
  return {{Evidence::Kind::kProved, "all-sizes; verifier 1; z3 4.8.12"},
          FloatBehavior::kExact,
          FloatTypes::any(),
          edges};
}

constexpr std::string_view kChanged = "the rule was changed after its proof, or its label was";

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string proved(const std::string& text, int rule_line = 2) {
  return with_evidence(text, {{rule_line, proof()}});
}

TEST(RuleEvidence, AProofNamesItsRule) {
  const std::string text = proved(kPlain);
  EXPECT_EQ(text,
            fmt::format("{}  proof all-sizes; types: any; floats: exact; edges: f16 overflow; "
                        "verifier 1; z3 4.8.12; rule {}\n",
                        kPlain, proof_digest(kPlain, proof())));
  const Rule rule = rules_of(text)[0];
  EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kProved);
  EXPECT_EQ(rule.evidence.detail, "all-sizes; verifier 1; z3 4.8.12");
  EXPECT_EQ(rule.floats, FloatBehavior::kExact);
  EXPECT_EQ(rule.types, FloatTypes::any());
  EXPECT_EQ(rule.edges, proof().edges);
  const Rule again = rules_of(print(rule))[0];
  EXPECT_EQ(again.evidence.kind, Evidence::Kind::kProved) << print(rule);
  EXPECT_EQ(again.evidence.detail, rule.evidence.detail);
  EXPECT_EQ(print(again), print(rule));
}

TEST(RuleEvidence, EditsVoidAProof) {
  const std::string text = proved(kPlain);
  for (const auto& [what, by] : {std::pair{"[n, m]", "[m, m]"}, std::pair{"mul(u, a)", "mul(a, u)"},
                                 std::pair{"rule product", "rule other"},
                                 std::pair{"  source", "  where n >= 2\n  source"}}) {
    const Rule rule = rules_of(replaced(text, what, by))[0];
    EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kNone) << what;
    EXPECT_EQ(rule.evidence.detail, kChanged) << what;
  }
}

TEST(RuleEvidence, CommentsAndBlanksDoNot) {
  const std::string text = proved(kPlain);
  for (const auto& [what, by] :
       {std::pair{"Says why", "Says more"}, std::pair{"x: [n, m]   a", "x: [n,m] a"},
        std::pair{"neg(t)", "neg( t )  # negative"},
        std::pair{"  target", "\n  # And so:\n target"},
        std::pair{"floats: exact", "floats:  exact"}}) {
    const Rule rule = rules_of(replaced(text, what, by))[0];
    EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kProved) << what << rule.evidence.detail;
  }
}

TEST(RuleEvidence, AnEditedLabelVoidsAProof) {
  const std::string text = proved(kPlain);
  for (const auto& [what, by] :
       {std::pair{"floats: exact", "floats: reassociates"}, std::pair{"types: any", "types: f32"},
        std::pair{"f16 overflow", "none"}, std::pair{"verifier 1", "verifier 2"},
        std::pair{"all-sizes;", "all-sizes, a law of functions;"}}) {
    const Rule rule = rules_of(replaced(text, what, by))[0];
    EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kNone) << what;
    EXPECT_EQ(rule.evidence.detail, kChanged) << what;
  }
}

TEST(RuleEvidence, ALineWithoutTypesOrEdgesIsReadButIsNoProof) {
  const EvidenceLine old{{Evidence::Kind::kProved, "all-sizes; verifier 1; z3 4.8.12"}};
  for (const bool types : {false, true}) {
    EvidenceLine line = old;
    if (types) line.types = FloatTypes::any();
    const Rule rule = rules_of(with_evidence(kPlain, {{2, line}}))[0];
    EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kNone);
    EXPECT_EQ(rule.evidence.detail, "the proof does not say for which types it holds");
    EXPECT_FALSE(rule.edges.has_value());
  }
}

TEST(RuleEvidence, AnUnknownWordOfALabelIsAnError) {
  for (const char* line : {"floats: wobbly", "types: i64", "edges: falls off"}) {
    const auto file = parse_rules(std::string(kPlain) + "  proof all-sizes; " + line + "\n");
    ASSERT_FALSE(file.ok()) << line;
    EXPECT_EQ(file.error().code, core::ErrorCode::kInvalidInput);
  }
}

TEST(RuleEvidence, ADigestIsNeeded) {
  const std::string line = "  proof all-sizes; types: any; floats: exact; edges: none; verifier 1";
  Rule rule = rules_of(kPlain + line + "\n")[0];
  EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kNone);
  EXPECT_EQ(rule.evidence.detail, "the proof does not say of which rule it is");
  rule = rules_of(kPlain + line + "; rule " + std::string(16, '0') + "\n")[0];
  EXPECT_EQ(rule.evidence.kind, Evidence::Kind::kNone);
}

TEST(RuleEvidence, WordsInsideAStatementAreNoEvidence) {
  const std::string text = R"(rule r
  proof: [n]
  source
    y = add(proof, proof)
  target
    y = add(
      proof, proof)
)";
  const std::string other = replaced(text, "      proof, proof)", "      proof, x)");
  EXPECT_NE(proof_digest(text, proof()), proof_digest(other, proof()));
}

TEST(RuleEvidence, PutsReplacesAndRemovesLines) {
  const std::string text = R"(# File

# One.
rule a
  x: [n]
  target
    y = x

rule b
  x: [n]
  checked 2^61-1, 5 sizes; floats: exact
# Two.
rule c
  x: [n]
  proof all-sizes; floats: exact
  # after the evidence
rule d
  x: [n]
  proof all-sizes; floats: exact
)";
  EvidenceLine line{{Evidence::Kind::kChecked, "2^61-1, 9 sizes"}, FloatBehavior::kReassociates};
  EXPECT_EQ(with_evidence(text, {{4, line}, {9, line}, {13, {}}, {17, line}}), R"(# File

# One.
rule a
  x: [n]
  target
    y = x
  checked 2^61-1, 9 sizes; floats: reassociates

rule b
  x: [n]
  checked 2^61-1, 9 sizes; floats: reassociates
# Two.
rule c
  x: [n]
  # after the evidence
rule d
  x: [n]
  checked 2^61-1, 9 sizes; floats: reassociates
)");
}

TEST(RuleEvidence, IsStableWhenWrittenTwice) {
  const std::string once = proved(kPlain);
  EXPECT_EQ(proved(once), once);
  const std::string last_line_open = once.substr(0, once.size() - 1);
  EXPECT_EQ(proved(last_line_open), once);
}

}  // namespace
}  // namespace soapstone::rules
