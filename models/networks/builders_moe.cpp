// A mixture of experts: GPT with several feed-forwards in every second layer, of which a token goes
// through the one or two that a gate prefers. The gate is that of Lepikhin et al., 2020 (GShard),
// section 2.2 and algorithm 1, without its random choice and its loss for balance; the decoders
// are those of Du et al., 2021 (GLaM), section 3. Tokens of a sequence are a group. An expert has a
// number of places for each group; who finds none passes through the sum around the layer alone.
#include <cmath>

#include "models/layers/decoders.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Dims;
using core::Polynomial;
using Tensor = Network::Tensor;

const std::vector<ModelParameter>& moe_parameters() {
  static const std::vector<ModelParameter> kParameters = [] {
    auto all = decoder_parameters({.layers = 4, .hidden = 512, .heads = 8, .vocabulary = 32000});
    all.push_back({"feed", 2048, "numbers inside a feed-forward"});
    all.push_back({"experts", 8, "feed-forwards of a layer with experts"});
    all.push_back({"every", 2, "one layer of so many has experts, the last of them", 1, 1000});
    all.push_back({"top", 2, "experts of a token; at most experts", 1, 2});
    all.push_back({"capacity_percent", 100,
                   "places of the experts of a layer, relative to top times the tokens", 1, 10000});
    return all;
  }();
  return kParameters;
}

/// Letters of shapes: g groups, s tokens of a group, m numbers of a token, e experts, c places.
class ExpertLayer {
 public:
  ExpertLayer(Network& net, std::string name, Tensor x, const BuildParameters& p)
      : net_(net), name_(std::move(name)), x_(x), groups_(p["batch"]), tokens_(p["seq"]),
        experts_(p["experts"]), top_(p["top"]), hidden_(p["hidden"]), feed_(p["feed"]) {
    const std::int64_t wanted = top_ * tokens_ * p["capacity_percent"], whole = 100 * experts_;
    places_ = (wanted + whole - 1) / whole;
  }

  Tensor build() {
    const Tensor gates = net_.transpose(
        name_ + "/gates",
        net_.softmax(name_ + "/softmax", net_.linear(name_ + "/gate", x_, experts_, false), 2),
        {0, 2, 1});
    route(gates);
    Tensor y = einsum("/dispatch", "gecs,gsm->gecm", {dispatch_, x_});
    y = net_.matmul(name_ + "/feed1", y, expert_weight(".feed1", hidden_, feed_));
    y = net_.relu(name_ + "/relu", y);
    y = net_.matmul(name_ + "/feed2", y, expert_weight(".feed2", feed_, hidden_));
    return einsum("/combine", "gecs,gecm->gsm", {combine_, y});
  }

 private:
  /// From gates[g,e,s]: which token stands at which place, and what the expert's result counts for
  /// it, both [g,e,c,s].
  void route(Tensor gates) {
    const Tensor zero = net_.scalar(name_ + ".zero", 0.0F),
                 none = net_.scalar(name_ + ".none", -1.0F);
    const Tensor spread = net_.reshape(name_ + "/spread", gates, with_places(1));
    Tensor left = gates, total;
    for (std::int64_t k = 0; k < top_; ++k) {
      const std::string name = name_ + "/choice" + std::to_string(k);
      const Tensor best = net_.reduce("reduce_max", name + "/best", left, {1}, true);
      const Tensor chosen = net_.append("equal", {left, best}, {}, name);
      const Tensor placed = places(name, chosen);
      const Tensor shares = net_.append("where", {placed, spread, zero}, {}, name + "/shares");
      dispatch_ = k == 0 ? placed : net_.append("max", {dispatch_, placed}, {}, name + "/placed");
      combine_ = k == 0 ? shares : net_.add(name + "/combine", combine_, shares);
      total = k == 0 ? best : net_.add(name + "/total", total, best);
      // No gate is negative, so that no expert is chosen twice.
      left = net_.append("where", {chosen, none, left}, {}, name + "/left");
    }
    if (top_ > 1) {
      const Tensor sums = net_.reshape(name_ + "/total", total, {groups_, 1, 1, tokens_});
      combine_ = net_.append("div", {combine_, sums}, {}, name_ + "/shares");
    }
    dispatch_ = net_.cast(name_ + "/dispatch/cast", dispatch_, net_.type());
  }

  /// [g,e,c,s], bool: the tokens that chose an expert stand at its places in their order, behind
  /// those whose earlier choice it was.
  Tensor places(const std::string& name, Tensor chosen) {
    const Tensor ones = net_.cast(name + "/ones", chosen, core::DataType::kInt64);
    Tensor place = net_.append(
        "cumsum", {ones}, {{"axis", Polynomial(2)}, {"exclusive", Polynomial(1)}}, name + "/place");
    if (taken_.valid()) place = net_.add(name + "/behind", place, taken_);
    const Tensor count = net_.reduce("reduce_sum", name + "/count", ones, {2}, true);
    taken_ = taken_.valid() ? net_.add(name + "/taken", taken_, count) : count;
    const Tensor numbers = net_.iota(name + "/numbers", {1, 1, places_, 1}, 2);
    const Tensor at = net_.append(
        "equal", {net_.reshape(name + "/place/reshape", place, with_places(1)), numbers}, {},
        name + "/at");
    return net_.mul(name + "/and", at, net_.reshape(name + "/chosen", chosen, with_places(1)));
  }

  Dims with_places(std::int64_t places) const { return {groups_, experts_, places, tokens_}; }

  Tensor expert_weight(const char* part, std::int64_t inputs, std::int64_t outputs) {
    return net_.weight(name_ + part, {experts_, inputs, outputs},
                       std::sqrt(2.0 / static_cast<double>(inputs + outputs)));
  }
  Tensor einsum(const char* part, const char* equation, std::vector<Tensor> inputs) {
    return net_.append("einsum", std::move(inputs), {{"equation", std::string(equation)}},
                       name_ + part);
  }

  Network& net_;
  std::string name_;
  Tensor x_;
  std::int64_t groups_, tokens_, experts_, top_, hidden_, feed_, places_ = 0;
  Tensor taken_, dispatch_, combine_;
};

core::Result<BuiltNetwork> build_moe(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(moe_parameters(), given));
  if (p["top"] > p["experts"]) {
    return core::invalid_input("the parameter top is larger than experts");
  }
  Network net("moe", options);
  return build_decoders(net, p, [&](const std::string& name, Tensor x, std::int64_t layer) {
    if ((layer + 1) % p["every"] != 0) return gelu_feed_forward(net, name, x, p["feed"]);
    return ExpertLayer(net, name + "/experts", x, p).build();
  });
}

}  // namespace

ModelBuilder moe_builder() {
  return {"moe", "GPT with experts in every second layer, 58.9 million parameters",
          "Lepikhin et al., GShard: Scaling Giant Models with Conditional Computation and "
          "Automatic Sharding, 2020, section 2.2, algorithm 1; Du et al., GLaM, 2021, section 3",
          moe_parameters(), build_moe};
}

}  // namespace soapstone::models
