// See experts.h. Dispatch and combination are products with tensors that say which token stands at
// which place of which expert.
#include "models/layers/experts.h"

#include <algorithm>
#include <cmath>

namespace soapstone::models {

using core::Dims;
using core::Polynomial;
using Tensor = Network::Tensor;

namespace {

/// Letters of shapes: g groups, s tokens of a group, m numbers of a token, e experts, c places.
class ExpertLayer {
 public:
  ExpertLayer(Network& net, std::string name, Tensor x, const ExpertOptions& options)
      : net_(net), name_(std::move(name)), x_(x), options_(options), groups_(net.dims(x)[0]),
        tokens_(net.dims(x)[1]), hidden_(net.dims(x)[2]), experts_(options.experts) {
    const std::int64_t wanted = options.top * tokens_ * options.capacity_percent,
                       whole = 100 * experts_;
    places_ = (wanted + whole - 1) / whole;
  }

  Tensor build() {
    const Tensor gates = net_.transpose(
        name_ + "/gates",
        net_.softmax(name_ + "/softmax", net_.linear(name_ + "/gate", x_, experts_, false), 2),
        {0, 2, 1});
    route(gates);
    Tensor y = einsum("/dispatch", "gecs,gsm->gecm", {dispatch_, x_});
    const Tensor up = product("feed1", y, options_.feed);
    if (options_.gated) {
      const Tensor swish = net_.swish(name_ + "/feed_gate", product("feed_gate", y, options_.feed));
      y = net_.mul(name_ + "/mul", swish, up);
    } else {
      y = net_.relu(name_ + "/relu", up);
    }
    y = product("feed2", y, hidden_);
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
    for (std::int64_t k = 0; k < options_.top; ++k) {
      const std::string name = name_ + "/choice" + std::to_string(k);
      const Tensor best = net_.reduce("reduce_max", name + "/best", left, {1}, true);
      const Tensor chosen = net_.append("equal", {left, best}, {}, name);
      const Tensor placed = places(name, chosen);
      const Tensor shares = net_.append("where", {placed, spread, zero}, {}, name + "/shares");
      dispatch_ = k == 0 ? placed : net_.append("max", {dispatch_, placed}, {}, name + "/placed");
      combine_ = k == 0 ? shares : net_.add(name + "/combine", combine_, shares);
      if (options_.normalized) total = k == 0 ? best : net_.add(name + "/total", total, best);
      // No gate is negative, so that no expert is chosen twice.
      left = net_.append("where", {chosen, none, left}, {}, name + "/left");
    }
    if (options_.normalized && options_.top > 1) {
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

  /// Multiplies each expert's x[g,e,c,…] by its own matrix.
  Tensor product(const std::string& part, Tensor x, std::int64_t outputs) {
    const std::int64_t inputs = net_.dims(x)[3];
    const double fans = static_cast<double>(std::max<std::int64_t>(inputs + outputs, 1));
    const Tensor w =
        net_.weight(name_ + "." + part, {experts_, inputs, outputs}, std::sqrt(2.0 / fans));
    return net_.matmul(name_ + "/" + part, x, w);
  }
  Tensor einsum(const char* part, const char* equation, std::vector<Tensor> inputs) {
    return net_.append("einsum", std::move(inputs), {{"equation", std::string(equation)}},
                       name_ + part);
  }

  Network& net_;
  std::string name_;
  Tensor x_;
  const ExpertOptions& options_;
  std::int64_t groups_, tokens_, hidden_, experts_, places_ = 0;
  Tensor taken_, dispatch_, combine_;
};

}  // namespace

Tensor expert_layer(Network& net, const std::string& name, Tensor x, const ExpertOptions& options) {
  return ExpertLayer(net, name, x, options).build();
}

std::vector<ModelParameter> expert_parameters(std::int64_t experts, std::int64_t top) {
  return {{"experts", experts, "feed-forwards of a layer with experts", 1, 4096},
          {"top", top, "experts of a token; at most experts", 1, 64},
          {"capacity_percent", 100,
           "places of the experts of a layer, relative to top times the tokens", 1, 100000}};
}

core::Result<ExpertOptions> expert_options(const BuildParameters& p) {
  if (p["top"] > p["experts"])
    return core::invalid_input("the parameter top is larger than experts");
  return ExpertOptions{.experts = p["experts"],
                       .top = p["top"],
                       .feed = p["feed"],
                       .capacity_percent = p["capacity_percent"]};
}

}  // namespace soapstone::models
