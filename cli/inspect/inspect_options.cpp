// See inspect_options.h.
#include "cli/inspect/inspect_options.h"

#include "cli/options/device_options.h"

namespace soapstone::cli {

void add_inspect_options(CommandLine& line, InspectOptions& options) {
  line.add("model", options.request.model, "ONNX file").required().type("FILE").reads("the model");
  line.add_flag("--text", options.as_text, "Print the graph in Soapstone's text format instead");
  line.add("--dot", options.dot, "Write the graph for Graphviz").type("FILE").writes();
  line.add("--svg", options.svg, "Draw the graph (needs Graphviz)").type("FILE").writes();
  add_shape_option(line, options.request.shapes);
  add_fusion_option(line, options.request.fusion);
  add_common_options(line, options);
  set_examples(line, "  $ inspect-graph model.onnx\n"
                     "  $ inspect-graph model.onnx --shape input=1x3x224x224 --json -\n"
                     "  $ inspect-graph model.onnx --svg model.svg");
}

}  // namespace soapstone::cli
