// Random graphs of a kind, as texts: trunks of convolutions, pools, joins, cuts, views and
// elementwise operators with several readers, to try plans on that nobody thought of.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace soapstone::runtime::test {

class RandomGraphText {
 public:
  explicit RandomGraphText(unsigned seed) : random_(seed) {}

  std::string make(std::size_t nodes) {
    text_ = "graph example\n  x0: f32[1, 4, 5, 5]\n  x1: f32[1, 4, 5, 5]\n  w: f32[4, 4, 3, 3]\n"
            "  p: f32[4, 4, 1, 1]\n  b: f32[4, 1, 1]\n  m: f32[5, 5]\n";
    images_ = {"x0", "x1"};
    for (std::size_t i = 0; i < nodes; ++i) add_node();
    std::string outputs = images_.back();
    for (int i = 0; i < 2; ++i) outputs += ", " + any();
    return text_ + "  return " + outputs + "\n";
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  const std::string& any() { return images_[below(images_.size())]; }
  std::string fresh() { return "t" + std::to_string(next_++); }
  std::string define(const std::string& call) {
    std::string name = fresh();
    text_ += "  " + name + " = " + call + "\n";
    return name;
  }

  /// Every path leads from tensors [1, 4, 5, 5] to one more of them.
  void add_node() {
    const std::string x = any();
    switch (below(13)) {
    case 12:
      return keep(define("mul(" + x + ", " + define("sigmoid(" + x + ")") + ")"));
    case 0:
      return keep(define("conv(" + x + ", w; pads=[1, 1, 1, 1])"));
    case 1:
      return keep(define("conv(" + x + ", p)"));
    case 2:
      return keep(define("add(" + x + ", b)"));
    case 3:
      return keep(define("add(" + x + ", " + any() + ")"));
    case 4:
      return keep(define("relu(" + x + ")"));
    case 5:
      return keep(define("tanh(" + x + ")"));
    case 6:
      return keep(define("matmul(" + x + ", m)"));
    case 7:
      return keep(define("max_pool(" + x + "; kernel=[3, 3], pads=[1, 1, 1, 1])"));
    case 8:
      return reshape_and_back(x);
    case 9:
      return join_and_cut(x, any(), 1);
    case 10:
      return join_and_cut(x, any(), 2);
    default:
      return keep(define("mul(" + x + ", " + any() + ")"));
    }
  }

  void keep(std::string name) { images_.push_back(std::move(name)); }

  void reshape_and_back(const std::string& x) {
    const std::string row = define("reshape(" + x + "; shape=[1, 100])");
    const std::string half =
        define("slice(" + row + "; axes=[1], starts=[50], sizes=[50], steps=[1])");
    const std::string other = define("sigmoid(" + half + ")");
    const std::string both =
        define("concat(" + other + ", " + define("neg(" + half + ")") + "; axis=1)");
    keep(define("reshape(" + both + "; shape=[1, 4, 5, 5])"));
  }

  void join_and_cut(const std::string& x, const std::string& y, int axis) {
    const std::string joined =
        define("concat(" + x + ", " + y + "; axis=" + std::to_string(axis) + ")");
    const std::string part = fresh(), rest = fresh();
    const std::string sizes = axis == 1 ? "[4, 4]" : "[5, 5]";
    text_ += "  " + part + ", " + rest + " = split(" + joined + "; axis=" + std::to_string(axis) +
             ", sizes=" + sizes + ")\n";
    keep(part);
    keep(rest);
  }

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> images_;
  int next_ = 0;
};

}  // namespace soapstone::runtime::test
