// The table of readers: those of all operators, then those of compositions.
#include "models/onnx/nodes/reader_table.h"

#include "ops/definition/registry.h"

namespace soapstone::models {

ReaderTable::ReaderTable() {
  for (const auto& definition : ops::registry().all()) {
    for (const ops::OnnxReader& reader : definition->onnx.readers) add(reader);
  }
  for (const ops::OnnxReader& reader : ops::composite_readers()) add(reader);
}

void ReaderTable::add(const ops::OnnxReader& reader) {
  readers_[reader.domain + "." + reader.op_type].push_back(reader);
}

const ReaderTable& ReaderTable::get() {
  static const ReaderTable kTable;
  return kTable;
}

const ops::OnnxReader* ReaderTable::find(const std::string& domain, const std::string& op_type,
                                         int opset) const {
  const auto found = readers_.find(domain + "." + op_type);
  if (found == readers_.end()) return nullptr;
  for (const ops::OnnxReader& reader : found->second) {
    if (reader.since_opset <= opset && opset <= reader.until_opset) return &reader;
  }
  return nullptr;
}

}  // namespace soapstone::models
