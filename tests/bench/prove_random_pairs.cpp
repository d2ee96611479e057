// The large run of tests/fuzz/proofs/random_pairs: prove-random-pairs [SEED] [WORLDS] [DRAWS]
// [EXAMPLES]. Ends with 1 if a wrong pair is proved.
#include <fmt/format.h>

#include <cstdlib>

#include "tests/fuzz/proofs/random_pairs.h"

int main(int argc, char** argv) {
  using namespace soapstone::fuzz;
  const auto number = [&](int k, std::size_t otherwise) {
    return k < argc ? std::strtoull(argv[k], nullptr, 10) : otherwise;
  };
  PairOptions options;
  options.seed = number(1, 1);
  options.worlds = number(2, 56);
  options.draws = number(3, 6000);
  options.progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const PairReport report = try_random_pairs(options);
  fmt::print("seed {}\n{}", options.seed, to_text(report, number(4, 3)));
  return report.wrong_proved == 0 ? 0 : 1;
}
