// Networks of every kind of layer, so small that all elements of their tensors can be computed in a
// moment.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "parallel/planning/named.h"
#include "tests/parallel/planned_network.h"

namespace soapstone::parallel {

struct SmallNetwork {
  std::string name;
  models::ParameterValues sizes;
};

inline const std::vector<SmallNetwork>& small_networks() {
  static const std::vector<SmallNetwork> all = {
      {"mlp", {{"batch", 8}, {"layers", 3}, {"inputs", 12}, {"hidden", 16}, {"outputs", 6}}},
      {"lenet", {{"batch", 8}}},
      {"resnet18", {{"batch", 4}, {"image", 32}, {"classes", 8}, {"width", 4}}},
      {"gpt",
       {{"batch", 4},
        {"seq", 4},
        {"positions", 4},
        {"layers", 2},
        {"hidden", 16},
        {"heads", 4},
        {"vocabulary", 24}}},
      {"llama",
       {{"batch", 4},
        {"seq", 4},
        {"layers", 2},
        {"hidden", 16},
        {"heads", 4},
        {"feed", 24},
        {"vocabulary", 24}}},
      {"dlrm", {{"batch", 8}, {"tables", 4}, {"rows", 16}, {"width", 4}, {"hidden", 16}}},
  };
  return all;
}

inline std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const NamedStrategy& strategy : named_strategies()) names.push_back(strategy.name);
  return names;
}

/// For names of tests.
inline std::string in_letters(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

}  // namespace soapstone::parallel
