// DLRM: embeddings of categories and a perceptron over numbers, of which all pairs interact by
// inner products. Naumov et al., 2019, section 2.1; the tables are those of the Criteo data set of
// Kaggle's display advertising challenge, section 5.2, and the sizes those of the authors' release.
#include <algorithm>
#include <array>

#include "models/layers/network.h"
#include "models/networks/network_builders.h"

namespace soapstone::models {
namespace {

using core::Dims;
using core::Polynomial;
using Tensor = Network::Tensor;

constexpr std::int64_t kNumbers = 13;
/// How many values each category has.
constexpr std::array<std::int64_t, 26> kTableRows = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

const std::vector<ModelParameter>& dlrm_parameters() {
  static const std::vector<ModelParameter> kParameters = {
      {"batch", 1, "samples at once"},
      {"tables", kTableRows.size(), "categories, each with a table", 1, kTableRows.size()},
      {"rows", 100000, "rows of the largest tables; 10131227 is the full size", 1, 1 << 24},
      {"lookups", 1, "rows of a table that are added up for a sample"},
      {"width", 16, "numbers in a row"},
      {"hidden", 512, "results of the first layer of either perceptron; a multiple of 8"}};
  return kParameters;
}

class Dlrm {
 public:
  Dlrm(const BuildParameters& p, const NetworkOptions& options)
      : net_("dlrm", options), batch_(p["batch"]), width_(p["width"]), hidden_(p["hidden"]), p_(p) {
  }

  core::Result<BuiltNetwork> build() {
    const Tensor numbers = net_.input("numbers", {batch_, kNumbers});
    const Dims bottom = {hidden_, hidden_ / 2, hidden_ / 8, width_};
    const Tensor dense = net_.perceptron("bottom", numbers, bottom);
    std::vector<Tensor> features = {dense};
    for (std::int64_t i = 0; i < p_["tables"]; ++i) features.push_back(category(i));
    const Tensor pairs = interactions(features);
    Tensor x = net_.concat("join", {dense, pairs}, 1);
    x = net_.perceptron("top", x, {hidden_, hidden_ / 2});
    return net_.finish({{net_.linear("last", x, 1), "score"}});
  }

 private:
  /// [batch, width]: the sum of the rows that an input names.
  Tensor category(std::int64_t i) {
    const std::string name = "category" + std::to_string(i);
    const std::int64_t lookups = p_["lookups"];
    const std::int64_t rows = std::min(kTableRows[static_cast<std::size_t>(i)], p_["rows"]);
    const Dims dims = lookups > 1 ? Dims{batch_, lookups} : Dims{batch_};
    const Tensor ids = net_.input(name + "_ids", dims, core::DataType::kInt64);
    const Tensor x = net_.look_up(name, net_.table(name, rows, width_), ids);
    return lookups > 1 ? net_.reduce("reduce_sum", name + "/sum", x, {1}, false) : x;
  }

  /// [batch, pairs]: the inner product of every two features.
  Tensor interactions(const std::vector<Tensor>& features) {
    const std::int64_t count = std::ssize(features);
    std::vector<std::int64_t> below;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t k = 0; k < i; ++k) below.push_back(i * count + k);
    const Tensor flat = net_.concat("pairs/features", features, 1);
    const Tensor rows = net_.reshape("pairs/rows", flat, {batch_, count, width_});
    const Tensor columns = net_.transpose("pairs/columns", rows, {0, 2, 1});
    const Tensor all =
        net_.reshape("pairs/flat", net_.matmul("pairs", rows, columns), {batch_, count * count});
    const Tensor index =
        net_.constant(core::Literal::ints({std::ssize(below)}, below), "pairs.index");
    return net_.append("gather", {all, index}, {{"axis", Polynomial(1)}}, "pairs/below");
  }

  Network net_;
  std::int64_t batch_, width_, hidden_;
  const BuildParameters& p_;
};

core::Result<BuiltNetwork> build_dlrm(const ParameterValues& given, const NetworkOptions& options) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto p, BuildParameters::make(dlrm_parameters(), given));
  if (p["hidden"] % 8 != 0) {
    return core::invalid_input("the parameter hidden is not a multiple of 8");
  }
  return Dlrm(p, options).build();
}

}  // namespace

ModelBuilder dlrm_builder() {
  return {"dlrm", "DLRM with tables of Criteo, up to 540.7 million parameters",
          "Naumov et al., Deep Learning Recommendation Model for Personalization and "
          "Recommendation Systems, 2019; sections 2.1 and 5.2",
          dlrm_parameters(), build_dlrm};
}

}  // namespace soapstone::models
