"""What the differential fuzzer once found stays fixed: the models in finds/ with every strategy."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
import differential_fuzz
import shrink
from model_judge import Judge

FINDS = sorted((Path(__file__).parent / "finds").glob("*.onnxtxt"))


class Finds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="soapstone-")
        cls.fuzzer = differential_fuzz.Fuzzer(differential_fuzz.parse([]), cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.fuzzer.optimizer.close()
        cls.folder.cleanup()

    def check(self, path):
        model, job = shrink.read_find(path.read_text())
        judge = Judge(model)
        jobs = [job]
        if job["do"] == "optimize":
            # Whether the optimizer looks at its result, too, changes nothing in the search.
            jobs = [{**job, "strategy": strategy, "verify": 0}
                    for strategy in differential_fuzz.STRATEGIES]
            jobs += [{**job, "strategy": "backtracking", "verify": 8}, job,
                     {"do": "round-trip", "shapes": job.get("shapes", [])}]
            jobs = [attempt for k, attempt in enumerate(jobs) if attempt not in jobs[:k]]
        for attempt in jobs:
            with self.subTest(job=attempt):
                answer, verdict = self.fuzzer.attempt(model, judge, attempt)
                self.assertEqual(verdict.kind, "", f"{verdict}\n{answer}")

    def test_there_are_finds(self):
        self.assertTrue(FINDS)


for find in FINDS:
    setattr(Finds, f"test_{find.stem.replace('-', '_')}",
            lambda self, path=find: self.check(path))

if __name__ == "__main__":
    unittest.main()
