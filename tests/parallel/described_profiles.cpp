#include "tests/parallel/described_profiles.h"

#include <vector>

namespace soapstone::parallel {
namespace {

using DescribedJson = nlohmann::ordered_json;

DescribedJson times(int tensor_parallel, int microbatch, double slowness) {
  std::vector<double> forward, backward;
  for (const double layer : {1.0, 2.0, 2.0, 3.0}) {
    forward.push_back(layer * microbatch * slowness);
    backward.push_back(2 * layer * microbatch * slowness);
  }
  return {{"tensor_parallel", tensor_parallel},
          {"microbatch", microbatch},
          {"forward_s", forward},
          {"backward_s", backward},
          {"update_s", 0.28}};
}

DescribedJson sizes(double cut) {
  return {{"parameters", {20e6 / cut, 10e6 / cut, 10e6 / cut, 30e6 / cut}},
          {"saved_activation_elements", {5e6, 100e6 / cut, 100e6 / cut, 50e6 / cut}},
          {"output_elements", {25e6, 25e6, 25e6, 1}}};
}

}  // namespace

DescribedJson described_profiles() {
  DescribedJson json;
  json["models"]["small"] = {
      {"layers", 4},
      {"element_bytes", 4},
      {"layer_kinds", {"tokens", "transformer", "transformer", "head"}},
      {"per_gpu_by_tensor_parallel", {{"1", sizes(1)}, {"2", sizes(2)}, {"4", sizes(4)}}}};
  for (const char* const name : {"fast", "slow"}) {
    json["devices"][name] = {{"memory_mb", 16e3}, {"gpus_per_node", 4}};
    for (const char* const to : {"fast", "slow"})
      json["links"]["inter_node"].push_back(
          {{"from", name}, {"to", to}, {"pairs", 2}, {"fit", {0, 0, 1}}, {"max_gb_per_s", 1}});
    json["links"]["intra_node"].push_back(
        {{"device", name}, {"gpus", 2}, {"pairs", 1}, {"fit", {0, 0, 10}}, {"max_gb_per_s", 10}});
    const double slowness = name[0] == 's' ? 2 : 1;
    for (const int degree : {1, 2})
      for (const int microbatch : {4, 1})
        json["profiles"]["small"][name].push_back(times(degree, microbatch, slowness));
  }
  return json;
}

DescribedJson described_plan() {
  const auto stage = [](const std::vector<int>& layers) {
    return DescribedJson{{"layers", layers},
                         {"devices", std::vector<std::string>{"fast"}},
                         {"tensor_parallel", 2},
                         {"data_parallel", 1}};
  };
  return {{"id", "two stages"}, {"model", "small"},  {"global_batch", 4},
          {"microbatch", 1},    {"microbatches", 4}, {"stages", {stage({0, 1}), stage({2, 3})}}};
}

}  // namespace soapstone::parallel
