"""Half a minute of the fuzzer of damaged files; FUZZ_SEED in the environment chooses others."""

import os
import unittest

import broken_files


class BrokenFiles(unittest.TestCase):
    def test_no_file_breaks_a_command(self):
        seed = os.environ.get("FUZZ_SEED", "1")
        finds, tried = broken_files.fuzz(seconds=35, seed=seed)
        print(f"{tried} files, seed {seed}")
        self.assertEqual(finds, [])
        self.assertGreater(tried, 20)


if __name__ == "__main__":
    unittest.main()
