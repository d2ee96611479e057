// What is taken for a function is stated, not believed: here each of them is proved.
#include "transforms/recognize/recognition.h"

#include "tests/support/graphs.h"
#include "tests/transforms/spelled_functions.h"
#include "tests/verifier/proves.h"

namespace soapstone::verifier {
namespace {

class RecognitionProofs : public testing::TestWithParam<transforms::SpelledFunction> {};

TEST_P(RecognitionProofs, AreFound) {
  const auto plans = transforms::find_named_functions(graph_of(transforms::graph_text(GetParam())));
  ASSERT_FALSE(plans.empty());
  expect_steps_proved(plans);
}

INSTANTIATE_TEST_SUITE_P(All, RecognitionProofs, testing::ValuesIn(transforms::kSpelledFunctions),
                         [](const auto& spelled) { return std::string(spelled.param.name); });

}  // namespace
}  // namespace soapstone::verifier
