"""optimize-graph --inputs: arrays of a user's own, from numpy.savez and savez_compressed."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

BIN = pathlib.Path(os.environ["BIN_DIR"])


class Npz(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.model = self.path / "model.onnx"
        subprocess.run([BIN / "build-model", "squeezenet", "-o", self.model, "-q",
                        "--set", "image=64", "--set", "width_percent=25"],
                       check=True, stdout=subprocess.DEVNULL)

    def optimize(self, file):
        return subprocess.run([BIN / "optimize-graph", self.model, "--dry-run", "-q", "--inputs",
                               self.path / file, "--costs", "roofline", "--verify", "1"],
                              capture_output=True, text=True)

    def test_arrays_are_checked_too(self):
        image = numpy.random.default_rng(0).standard_normal((1, 3, 64, 64), dtype=numpy.float32)
        numpy.savez(self.path / "plain.npz", image=image)
        numpy.savez_compressed(self.path / "packed.npz", image=image)
        for file in "plain.npz", "packed.npz":
            done = self.optimize(file)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("equal on 2 inputs", done.stdout)

    def test_errors_say_what_is_wrong(self):
        numpy.savez(self.path / "name.npz", picture=numpy.zeros((1, 3, 64, 64), numpy.float32))
        numpy.savez(self.path / "shape.npz", image=numpy.zeros((3, 64, 64), numpy.float32))
        numpy.savez(self.path / "order.npz",
                    image=numpy.asfortranarray(numpy.zeros((1, 3, 64, 64), numpy.float32)))
        (self.path / "garbage.npz").write_bytes(b"not an archive")
        for file, message in (("name.npz", "no array for the input 'image'"),
                              ("shape.npz", "[3, 64, 64]"),
                              ("order.npz", "Fortran order"),
                              ("garbage.npz", "cannot be opened as an .npz archive")):
            done = self.optimize(file)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
