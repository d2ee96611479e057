"""What onnxruntime computes from networks that are optimized in other opsets than the default: the
same as from the originals. Of the default opset golden/roofline_test says it for all networks."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
import networks
import runtime_results

# The default is 17.
OTHER_OPSETS = [13, 23]
# Network: the least effort that finds something in it.
EFFORTS = {"squeezenet": 2, "bert_base": 1}


class Onnxruntime(unittest.TestCase):
    def check(self, name, opset):
        with tempfile.TemporaryDirectory(prefix="soapstone-") as folder:
            before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
            networks.build(name, before, opset)
            # Nothing else looks at the result, and takes out what is wrong, before it is compared here.
            networks.optimize(name, before, "-o", after, "--verify", "off", "--judge", "none",
                              "--effort", EFFORTS[name])
            runtime_results.check_same(self, name, before, after)


def add_test(name, opset):
    setattr(Onnxruntime, f"test_{name}_opset_{opset}", lambda self: self.check(name, opset))


for network in EFFORTS:
    for version in OTHER_OPSETS:
        add_test(network, version)

if __name__ == "__main__":
    unittest.main()
