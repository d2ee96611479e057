// Generates the rules that hold between small graphs of three operators, and proves them.
#include <cstdio>

#include "jobs/generate/generate.h"

using namespace soapstone;

int main() {
  jobs::GenerateRequest request;
  request.operators = {"add", "mul", "relu"};
  request.ops = 2;  // On each side of a rule at most.
  const auto outcome = jobs::generate(request);
  if (!outcome) return std::fprintf(stderr, "%s\n", outcome.error().to_string().c_str()), 1;
  std::printf("%s", outcome->text.c_str());  // A rule file.
}
