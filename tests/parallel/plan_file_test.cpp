// Plans as files: what is written is read again, and whatever is done to a file, it is refused or
// says the same.
#include "parallel/plans/plan_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "models/networks/builders.h"
#include "parallel/planning/named.h"
#include "parallel/topology/presets.h"

namespace soapstone::parallel {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using FileJson = nlohmann::ordered_json;

struct Planned {
  core::Graph graph;
  std::vector<bool> is_weight;
  Topology machine;
  PlanDocument document;
};

models::BuiltNetwork built(const std::string& name, const models::ParameterValues& sizes) {
  models::NetworkOptions options;
  options.weights = models::Weights::kInputs;
  return *models::build_network(name, sizes, options);
}

Planned planned_file(const std::string& name, const models::ParameterValues& sizes,
                     const MeshPlanOptions& options, const std::string& topology = "dgx-a100x1") {
  models::BuiltNetwork network = built(name, sizes);
  std::vector<bool> is_weight(network.graph.tensor_bound());
  for (const core::TensorId id : network.weights) is_weight[id.index()] = true;
  Topology machine = *preset_topology(topology);
  const core::StopToken never;
  const auto outcome =
      plan_on_meshes(network.graph, is_weight, machine, options, core::silent(), never);
  EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  PlanDocument document = document_of(network.graph, is_weight, machine, *outcome);
  document.strategy = "best";
  document.is_training = options.is_training;
  return {std::move(network.graph), std::move(is_weight), std::move(machine), std::move(document)};
}

class PlanFile : public testing::Test {
 protected:
  /// A pipeline whose stages cut nodes and weights.
  static const Planned& planned() {
    static const Planned kPlanned = [] {
      MeshPlanOptions options;
      options.is_training = true;
      options.freedom.stages = 2;
      options.freedom.model = 2;
      return planned_file("mlp", {{"batch", 64}}, options);
    }();
    return kPlanned;
  }
  const PlanDocument& document() const { return planned().document; }
  core::Status belongs(const PlanDocument& document) const {
    return check_belongs(document, planned().graph, planned().is_weight, planned().machine);
  }
  /// What reading says of the file after a change; empty if it is accepted.
  std::string message_after(const std::function<void(FileJson&)>& change,
                            bool keeps_digest = false) {
    FileJson json = FileJson::parse(plan_to_json(document()));
    if (!keeps_digest) json.erase("digest");
    change(json);
    const auto read = plan_from_json(json.dump());
    return read.ok() ? std::string() : read.error().to_string();
  }
};

TEST_F(PlanFile, SurvivesWritingAndReading) {
  const auto read = plan_from_json(plan_to_json(document()));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(*read, document());
  EXPECT_TRUE(belongs(*read).ok()) << belongs(*read).error().to_string();
  EXPECT_EQ(message_after([](FileJson&) {}), "") << "a digest may be left out";
  PlanDocument rehearsed = document();
  rehearsed.rehearsed = {123.5, 4e9};
  EXPECT_EQ(*plan_from_json(plan_to_json(rehearsed)), rehearsed);
  EXPECT_EQ(rehearsed.foretold_us(), 123.5);
  EXPECT_EQ(document().foretold_us(), document().time.total_us);
}

TEST(UnevenPlanFile, HasSharesThatAddUp) {
  MeshPlanOptions options;
  options.is_training = true;
  const PlanDocument document =
      planned_file("resnet50", {{"batch", 512}}, options, "v100-p100").document;
  ASSERT_TRUE(document.shape.is_uneven);
  const std::string text = plan_to_json(document);
  const auto read = plan_from_json(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(*read, document);
  const auto message_with = [&](const std::function<void(FileJson&)>& change) {
    FileJson json = FileJson::parse(text);
    json.erase("digest");
    for (FileJson& axis : json["axes"])
      if (axis.contains("shares")) change(axis["shares"]);
    return plan_from_json(json.dump()).error().to_string();
  };
  EXPECT_THAT(message_with([](FileJson& shares) { shares[0] = 0; }), HasSubstr("0"));
  EXPECT_THAT(message_with([](FileJson& shares) { shares[0] = 0.5; }), HasSubstr("no integer"));
  EXPECT_THAT(message_with([](FileJson& shares) { shares.push_back(1); }),
              HasSubstr("one for each of"));
  EXPECT_THAT(message_with([](FileJson& shares) {
                for (FileJson& share : shares) share = 1;
              }),
              HasSubstr("the same share"));

  const Planned planned = planned_file("resnet50", {{"batch", 512}}, options, "v100-p100");
  PlanDocument other = document;
  for (PlanAxis& axis : other.axes)
    if (!axis.shares.empty()) axis.shares[0] += 1;
  const auto belongs = check_belongs(other, planned.graph, planned.is_weight, planned.machine);
  ASSERT_FALSE(belongs.ok());
  EXPECT_THAT(belongs.error().to_string(), HasSubstr("do not divide"));
}

TEST_F(PlanFile, BelongsToItsModelAndTopology) {
  const models::BuiltNetwork other = built("mlp", {{"batch", 32}});
  EXPECT_FALSE(check_belongs(document(), other.graph, planned().is_weight, planned().machine).ok());
  EXPECT_FALSE(check_belongs(document(), *preset_topology("dgx-a100x2")).ok());
  PlanDocument larger = document();
  larger.devices = 16;
  EXPECT_FALSE(check_belongs(larger, planned().machine).ok());
}

/// A cut node, by its index in `nodes`.
std::size_t cut_node(const PlanDocument& document) {
  for (std::size_t k = 0; k < document.nodes.size(); ++k)
    if (!document.cuts[document.nodes[k].cuts].loops.empty()) return k;
  ADD_FAILURE() << "nothing is cut";
  return 0;
}

TEST_F(PlanFile, CutsWhatItsModelHas) {
  const auto message = [&](const std::function<void(PlanDocument&)>& change) {
    PlanDocument changed = document();
    change(changed);
    const core::Status status = belongs(changed);
    return status.ok() ? std::string("fine") : status.error().to_string();
  };
  const std::size_t cut = cut_node(document());
  EXPECT_EQ(message([](PlanDocument&) {}), "fine");
  EXPECT_THAT(message([&](PlanDocument& plan) { plan.nodes[cut].name += "x"; }),
              HasSubstr("is not nodes["));
  EXPECT_THAT(message([](PlanDocument& plan) { plan.nodes.pop_back(); }),
              HasSubstr("is not nodes["));
  EXPECT_THAT(message([](PlanDocument& plan) { plan.nodes.push_back({"more"}); }),
              HasSubstr("has no node 'more'"));
  EXPECT_THAT(message([&](PlanDocument& plan) {
                plan.cuts[plan.nodes[cut].cuts].loops = {{"attribute7", {"batch"}}};
              }),
              HasSubstr("has no 'attribute7'"));
  EXPECT_THAT(message([](PlanDocument& plan) {
                for (PlanAxis& axis : plan.axes) axis.size = 1 << 20;
              }),
              HasSubstr("elements and not"));
  EXPECT_THAT(message([](PlanDocument& plan) { plan.weights.back().name = "other"; }),
              HasSubstr("has no weight 'other'"));
  EXPECT_THAT(message([](PlanDocument& plan) { plan.weights.pop_back(); }),
              HasSubstr("is missing"));
  EXPECT_THAT(message([](PlanDocument& plan) {
                plan.weights[0].dims = {{"9", {"batch"}}};
              }),
              HasSubstr("has no '9'"));
}

TEST_F(PlanFile, SaysWhereItIsWrongWhatWasFoundAndWhatToDo) {
  const auto expect = [&](const std::string& text, const std::function<void(FileJson&)>& change) {
    EXPECT_THAT(message_after(change), StartsWith(text));
  };
  expect("version: 7 is no version that is known here, only 5 is (plan again",
         [](FileJson& json) { json["version"] = 7; });
  expect("the document: there is no key 'stratgy' here (did you mean 'strategy'?)",
         [](FileJson& json) { json["stratgy"] = "best"; });
  expect("estimates[0]: there is no key 'foward_us' here (did you mean 'forward_us'?)",
         [](FileJson& json) { json["estimates"][0]["foward_us"] = 3; });
  expect("estimates[0].again_us: -3 is negative",
         [](FileJson& json) { json["estimates"][0]["again_us"] = -3; });
  expect("simulated_us: -1.5 is negative", [](FileJson& json) { json["simulated_us"] = -1.5; });
  expect("simulated_us: \"1\" is no number", [](FileJson& json) { json["simulated_us"] = "1"; });
  expect("rehearsed.step_us: -2 is negative", [](FileJson& json) {
    json["rehearsed"] = {{"step_us", -2}, {"peak_bytes", 3}};
  });
  expect("rehearsed: the key 'peak_bytes' is missing", [](FileJson& json) {
    json["rehearsed"] = {{"step_us", 2}};
  });
  expect("estimated_share: a share is not more than 1",
         [](FileJson& json) { json["estimated_share"] = 1.5; });
  expect("pipeline.stages: 0 is not between 1 and 8",
         [](FileJson& json) { json["pipeline"]["stages"] = 0; });
  expect("axes: 4 stages of 4 devices are not 8 devices",
         [](FileJson& json) { json["pipeline"]["stages"] = 4; });
  expect("axes[0].name: 'modle' is not 'model'",
         [](FileJson& json) { json["axes"][0]["name"] = "modle"; });
  expect("axes[2].stride: 3 is not", [](FileJson& json) { json["axes"][2]["stride"] = 3; });
  expect("axes: there are 2 axes and not 3", [](FileJson& json) { json["axes"].erase(2); });
  expect("nodes[0].stage: 9 is not between 0 and 1",
         [](FileJson& json) { json["nodes"][0]["stage"] = 9; });
  expect("nodes: node 0 begins stage 1 out of turn",
         [](FileJson& json) { json["nodes"][0]["stage"] = 1; });
  expect("nodes[1].name: the name",
         [](FileJson& json) { json["nodes"][1]["name"] = json["nodes"][0]["name"]; });
  expect("nodes[0].estimate: 1000 is not between",
         [](FileJson& json) { json["nodes"][0]["estimate"] = 1000; });
  expect("model: \"12\" is no hash", [](FileJson& json) { json["model"] = "12"; });
}

TEST_F(PlanFile, RefusesPartsThatOverlap) {
  const auto cut_by = [&](FileJson loops) {
    return message_after([&](FileJson& json) { json["cuts"][0] = std::move(loops); });
  };
  EXPECT_EQ(cut_by({{"sample", {"batch"}}, {"reduction2", {"model"}}}), "");
  EXPECT_THAT(cut_by({{"sample", {"batch"}}, {"reduction2", {"batch"}}}),
              StartsWith("cuts[0].reduction2[0]: the parts overlap"));
  EXPECT_THAT(cut_by({{"sample", {"depth"}}}), StartsWith("cuts[0].sample[0]: there is no"));
  for (const char* const name : {"samples", "sample1", "sample02", "2", ""})
    EXPECT_THAT(cut_by({{name, {"batch"}}}), HasSubstr("there is no loop")) << name;
  EXPECT_THAT(message_after([](FileJson& json) {
                json["weights"].front() = {{"1x", {"any"}}};
              }),
              HasSubstr("'1x' is no number of a dimension"));
}

TEST_F(PlanFile, IsNoPlanIfItIsNoJson) {
  EXPECT_EQ(plan_from_json("{").error().to_string(), "this is no JSON: after 1 bytes, in line 1");
  EXPECT_EQ(plan_from_json("{\"version\": 1e999}").error().to_string(), "a number is out of range");
  EXPECT_EQ(plan_from_json("{\"version\": 1, \"version\": 1}").error().message,
            "an object has the key 'version' twice");
  EXPECT_FALSE(plan_from_json("[]").ok());
}

/// Everything that can be done to one value, and to its key where it has one.
std::vector<std::function<void(FileJson& parent, const std::string& key)>> value_mutations() {
  std::vector<std::function<void(FileJson&, const std::string&)>> all;
  const auto at = [](FileJson& parent, const std::string& key) -> FileJson& {
    return parent.is_array() ? parent[std::stoul(key)] : parent[key];
  };
  const auto replaced_by = [&](const FileJson& value) {
    all.push_back(
        [at, value](FileJson& parent, const std::string& key) { at(parent, key) = value; });
  };
  for (const auto& value :
       {FileJson(), FileJson(true), FileJson(false), FileJson(0), FileJson(-1), FileJson(1),
        FileJson(2), FileJson(0.5), FileJson(std::int64_t{1} << 62), FileJson(1e300), FileJson(""),
        FileJson("batch"), FileJson::array(), FileJson::object(), FileJson::array({1}),
        FileJson{{"x", 1}}})
    replaced_by(value);
  all.push_back([at](FileJson& parent, const std::string& key) {
    FileJson& value = at(parent, key);
    if (value.is_number_integer()) value = -value.get<std::int64_t>();
    if (value.is_number_float()) value = -value.get<double>();
    if (value.is_boolean()) value = !value.get<bool>();
  });
  all.push_back([at](FileJson& parent, const std::string& key) {
    FileJson& value = at(parent, key);
    if (value.is_number_float()) value = value.get<double>() * 1.25;
    if (value.is_number_integer()) value = value.get<std::int64_t>() + 1;
    if (value.is_string()) value = value.get<std::string>() + "0";
  });
  all.push_back([](FileJson& parent, const std::string& key) {
    if (parent.is_array())
      parent.erase(std::stoul(key));
    else
      parent.erase(key);
  });
  all.push_back([at](FileJson& parent, const std::string& key) {
    const FileJson value = at(parent, key);
    if (parent.is_array()) {
      parent.push_back(value);
    } else {
      parent.erase(key);
      parent[key + "_"] = value;
    }
  });
  return all;
}

/// Visits each value with its parent, by pointers into the document.
void each_place(
    const FileJson& value, const FileJson::json_pointer& here,
    const std::function<void(const FileJson::json_pointer&, const std::string&)>& visit) {
  if (!value.is_structured()) return;
  for (const auto& [key, inner] : value.items()) {
    visit(here, key);
    each_place(inner, here / key, visit);
  }
}

TEST_F(PlanFile, AFileThatWasChangedIsRefusedOrSaysTheSame) {
  const FileJson original = FileJson::parse(plan_to_json(document()));
  const auto mutations = value_mutations();
  std::size_t places = 0, accepted = 0;
  each_place(original, FileJson::json_pointer(),
             [&](const FileJson::json_pointer& parent, const std::string& key) {
               ++places;
               for (const auto& mutate : mutations) {
                 FileJson changed = original;
                 mutate(changed.at(parent), key);
                 const auto read = plan_from_json(changed.dump());
                 if (!read.ok()) {
                   EXPECT_EQ(read.error().code, core::ErrorCode::kInvalidInput);
                   EXPECT_FALSE(read.error().where.empty() || read.error().hint.empty());
                   continue;
                 }
                 ++accepted;
                 EXPECT_EQ(*read, document()) << "after a change of " << (parent / key).to_string();
               }
             });
  EXPECT_GT(places, 100U);
  EXPECT_GT(accepted, 0U);  // What is changed to what it was.
}

TEST_F(PlanFile, AChangeWithoutADigestIsRefusedOrIsAnotherPlanThatIsConsistent) {
  FileJson original = FileJson::parse(plan_to_json(document()));
  original.erase("digest");
  each_place(original, FileJson::json_pointer(),
             [&](const FileJson::json_pointer& parent, const std::string& key) {
               for (const auto& mutate : value_mutations()) {
                 FileJson changed = original;
                 mutate(changed.at(parent), key);
                 const auto read = plan_from_json(changed.dump());
                 if (!read.ok()) continue;
                 const auto again = plan_from_json(plan_to_json(*read));
                 ASSERT_TRUE(again.ok()) << again.error().to_string();
                 EXPECT_EQ(*again, *read);
                 EXPECT_EQ(read->shape.device_count(), read->devices);
                 (void)belongs(*read);  // Whatever it says, it says it.
               }
             });
}

}  // namespace
}  // namespace soapstone::parallel
