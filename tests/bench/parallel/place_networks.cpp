// Prints what placements of published networks take in FlexFlow's published setting: data parallel,
// the best that is found in some CPU seconds (the median over seeds), the bound, and proposals per
// CPU second.
//
//   place-networks [seeds] [CPU seconds of each] [network devices]...
#include <ctime>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "parallel/placement/bound.h"
#include "parallel/placement/search.h"
#include "tests/parallel/published/published_setting.h"

namespace soapstone::parallel {
namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double ms(Ticks ticks) { return to_us(ticks) / 1000; }

void place(const std::string& network, std::size_t devices, int seeds, double seconds) {
  const PlacementProblem problem = published_problem(network, devices);
  const Placement start = spread_placement(problem);
  std::vector<double> found;
  std::uint64_t proposals = 0;
  const double before_search = cpu_s();
  for (int seed = 1; seed <= seeds; ++seed) {
    const double end = cpu_s() + seconds;
    PlacementSearchOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.chains = 1;
    options.proposals = ~std::uint64_t{0};
    options.is_over = [end] { return cpu_s() > end; };
    const PlacementSearchResult result = search_placement(problem, start, options);
    found.push_back(ms(result.time));
    proposals += result.proposals;
  }
  const double searched_s = cpu_s() - before_search;
  std::sort(found.begin(), found.end());
  const double median = found[found.size() / 2];
  const double before_bound = cpu_s();
  const PlacementBound bound = placement_bound(problem, {});
  fmt::print("{:13} {:3} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f} {:6.1f} {:9.0f} {:6.2f}  {}\n",
             network, devices, ms(Simulator(problem).full(start)), found.front(), median,
             found.back(), ms(bound.time), 100 * (median / ms(bound.time) - 1),
             static_cast<double>(proposals) / searched_s, cpu_s() - before_bound, bound.binding);
  std::fflush(stdout);
}

}  // namespace
}  // namespace soapstone::parallel

int main(int count, char** arguments) {
  const int seeds = count > 1 ? std::atoi(arguments[1]) : 10;
  const double seconds = count > 2 ? std::atof(arguments[2]) : 5;
  std::vector<std::pair<std::string, std::size_t>> cases;
  for (int k = 3; k + 1 < count; k += 2)
    cases.emplace_back(arguments[k], std::strtoul(arguments[k + 1], nullptr, 10));
  if (cases.empty())
    cases = {{"nmt", 4},           {"nmt", 8},        {"nmt", 16},
             {"alexnet", 4},       {"alexnet", 16},   {"inception_v3", 4},
             {"inception_v3", 16}, {"resnet_101", 4}, {"resnet_101", 16}};
  fmt::print("{:13} {:>3} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>9} {:>6}  {}\n", "network", "dev",
             "dp ms", "best", "median", "worst", "bound", "gap %", "prop./s", "bnd s", "binds");
  for (const auto& [network, devices] : cases)
    soapstone::parallel::place(network, devices, seeds, seconds);
  return 0;
}
