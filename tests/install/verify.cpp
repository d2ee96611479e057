// Verifies two rules: one is true for all sizes, the other one is wrong.
#include <cstdio>

#include "jobs/verify/verify.h"

using namespace soapstone;

constexpr const char* kRules = R"(
rule matmul_is_associative
  a: [m, k]   b: [k, l]   c: [l, n]
  source
    ab = matmul(a, b)
    y = matmul(ab, c)
  target
    bc = matmul(b, c)
    y = matmul(a, bc)

rule matmul_commutes
  a: [n, n]   b: [n, n]
  source
    y = matmul(a, b)
  target
    y = matmul(b, a)
)";

int main() {
  jobs::VerifyRequest request;
  request.text = kRules;
  const auto outcome = jobs::verify(request);
  if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().to_string().c_str()), 1;
  for (const verifier::RuleVerdict& verdict : outcome->verdicts) {
    std::printf("%s: %s\n", verdict.rule.c_str(), verifier::to_string(verdict.kind).data());
    if (verdict.refutation) std::printf("%s\n", verdict.refutation->text.c_str());
  }
}
