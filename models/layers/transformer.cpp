// See transformer.h. Where several query heads share a key head, both have a dimension for the
// group, of size 1 for the keys: the products broadcast, and nothing is repeated in memory.
#include "models/layers/transformer.h"

#include <cmath>

namespace soapstone::models {

using core::Dims;
using Tensor = Network::Tensor;

namespace {

/// What is added to a score that must not count. exp(−10000) is 0, and f16 can hold it.
constexpr float kHidden = -1e4F;

class Attention {
 public:
  Attention(Network& net, std::string name, Tensor x, const AttentionOptions& options)
      : net_(net), name_(std::move(name)), x_(x), options_(options), dims_(net.dims(x)),
        head_(dims_[2] / options.heads) {}

  Tensor build() {
    const Tensor q = queries();
    const Tensor k = keys_transposed();
    const Tensor v = by_head("/value", project("/value", options_.key_value_heads));
    const Tensor factor =
        net_.scalar(name_ + "/factor", 1.0F / std::sqrt(static_cast<float>(head_)));
    Tensor scores = net_.mul(name_ + "/scale", net_.matmul(name_ + "/scores", q, k), factor);
    if (options_.mask.valid()) scores = net_.add(name_ + "/add_mask", scores, options_.mask);
    scores = net_.softmax(name_ + "/softmax", scores, shares() ? 4 : 3);
    Tensor y = net_.matmul(name_ + "/context", scores, v);
    y = net_.transpose(name_ + "/merge", y, shares() ? Dims{0, 3, 1, 2, 4} : Dims{0, 2, 1, 3});
    y = net_.reshape(name_ + "/join", y, dims_);
    return net_.linear(name_ + "/output", y, dims_[2], options_.bias);
  }

 private:
  bool shares() const { return options_.heads > options_.key_value_heads; }

  Tensor queries() {
    const Tensor q = by_head("/query", project("/query", options_.heads));
    return options_.rotation ? rotate("/query", q) : q;
  }

  Tensor keys_transposed() {
    const Tensor k = project("/key", options_.key_value_heads);
    if (!options_.rotation)
      return net_.transpose(name_ + "/key/heads", k,
                            shares() ? Dims{0, 2, 3, 4, 1} : Dims{0, 2, 3, 1});
    return net_.transpose(name_ + "/key/transpose", rotate("/key", by_head("/key", k)),
                          shares() ? Dims{0, 1, 2, 4, 3} : Dims{0, 1, 3, 2});
  }

  /// [batch, positions, heads, head size], or [batch, positions, key heads, group, head size].
  Tensor project(const std::string& part, std::int64_t heads) {
    const Tensor y = net_.linear(name_ + part, x_, heads * head_, options_.bias);
    Dims split = {dims_[0], dims_[1], options_.key_value_heads};
    if (shares()) split.push_back(heads / options_.key_value_heads);
    split.push_back(head_);
    return net_.reshape(name_ + part + "/split", y, split);
  }

  /// [batch, heads, positions, head size], or with the group behind the heads.
  Tensor by_head(const std::string& part, Tensor x) {
    return net_.transpose(name_ + part + "/heads", x,
                          shares() ? Dims{0, 2, 3, 1, 4} : Dims{0, 2, 1, 3});
  }

  /// Turns element i and element i + half of each head by an angle, as an exported model does it.
  Tensor rotate(const std::string& part, Tensor x) {
    const std::string name = name_ + part + "/rotate";
    const std::int64_t axis = shares() ? 4 : 3, half = head_ / 2;
    const Tensor low = net_.slice(name + "/low", x, axis, 0, half);
    const Tensor high = net_.slice(name + "/high", x, axis, half, half);
    const Tensor turned =
        net_.concat(name + "/turned", {net_.append("neg", {high}, {}, name + "/neg"), low}, axis);
    return net_.add(name, net_.mul(name + "/cosine", x, options_.rotation->cosines),
                    net_.mul(name + "/sine", turned, options_.rotation->sines));
  }

  Network& net_;
  std::string name_;
  Tensor x_;
  const AttentionOptions& options_;
  Dims dims_;
  std::int64_t head_;
};

}  // namespace

Tensor attention(Network& net, const std::string& name, Tensor x, const AttentionOptions& options) {
  return Attention(net, name, x, options).build();
}

Tensor causal_mask(Network& net, const std::string& name, std::int64_t seq) {
  const Tensor queries = net.iota(name + "/queries", {seq, 1}, 0);
  const Tensor keys = net.iota(name + "/keys", {1, seq}, 1);
  const Tensor sees = net.append("less_or_equal", {keys, queries}, {}, name + "/sees");
  return net.append(
      "where", {sees, net.scalar(name + ".shown", 0.0F), net.scalar(name + ".hidden", kHidden)}, {},
      name);
}

Rotation rotary_tables(Network& net, const std::string& name, std::int64_t seq, std::int64_t head,
                       std::int64_t theta) {
  std::vector<float> speeds;
  for (std::int64_t i = 0; i < head; ++i) {
    const double exponent = static_cast<double>(i % (head / 2) * 2) / static_cast<double>(head);
    speeds.push_back(static_cast<float>(std::pow(static_cast<double>(theta), -exponent)));
  }
  const Tensor positions = net.iota(name + "/positions", {seq, 1}, 0);
  const Tensor at = net.cast(name + "/cast", positions, core::DataType::kFloat32);
  const Tensor row = net.constant(core::Literal::floats({1, head}, speeds), name + ".speeds");
  const Tensor angles = net.mul(name + "/angles", at, row);
  const auto table = [&](const std::string& op) {
    const Tensor exact = net.append(op, {angles}, {}, name + "/" + op);
    if (net.type() == core::DataType::kFloat32) return exact;
    return net.cast(name + "/" + op + "/cast", exact, net.type());
  };
  const Tensor cosines = table("cos");
  return {cosines, table("sin")};
}

Tensor gelu_feed_forward(Network& net, const std::string& name, Tensor x, std::int64_t feed,
                         Gelu gelu) {
  const std::int64_t hidden = net.dims(x).at(2);
  core::Attributes attributes;
  if (gelu == Gelu::kTanh) attributes = {{"approximate", std::string("tanh")}};
  x = net.append("gelu", {net.linear(name + "/feed1", x, feed)}, attributes, name + "/gelu");
  return net.linear(name + "/feed2", x, hidden);
}

Tensor swiglu_feed_forward(Network& net, const std::string& name, Tensor x, std::int64_t feed) {
  const std::int64_t hidden = net.dims(x).at(2);
  const Tensor swish = net.swish(name + "/gate", net.linear(name + "/gate", x, feed, false));
  const Tensor up = net.linear(name + "/up", x, feed, false);
  return net.linear(name + "/down", net.mul(name + "/mul", swish, up), hidden, false);
}

Tensor pre_norm_block(Network& net, const std::string& name, Tensor x,
                      const AttentionOptions& options, double epsilon,
                      const std::function<Tensor(Tensor)>& feed_forward) {
  Tensor y = net.layer_norm(name + "/norm1", x, epsilon);
  x = net.add(name + "/add1", x, attention(net, name + "/attention", y, options));
  y = net.layer_norm(name + "/norm2", x, epsilon);
  return net.add(name + "/add2", x, feed_forward(y));
}

}  // namespace soapstone::models
