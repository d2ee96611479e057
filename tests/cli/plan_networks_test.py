"""plan-graph plans a step of training of networks as they were published, by their settings."""

import json
import unittest

from commands import run

# Network: its settings, nodes of eight devices each.
PUBLISHED = {
    "vgg": ({"layers": 19}, 1),
    "resnet18": ({}, 1),
    "resnet34": ({}, 1),
    "vit": ({"layers": 24, "hidden": 1024, "heads": 16}, 1),
    "unet": ({"blocks": 1}, 1),
    "bert": ({"layers": 24, "hidden": 1024, "heads": 16}, 1),
    "bert_large": ({"seq": 512}, 1),
    "gnmt": ({"steps": 3}, 1),
    "mixtral": ({"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "feed": 14336}, 8),
    "deepseek_moe": ({"layers": 28, "hidden": 2048, "heads": 16, "kv_heads": 16, "feed": 1408,
                      "experts": 64, "top": 6, "dense_feed": 10944, "vocabulary": 102400}, 8),
}


class PlanNetworks(unittest.TestCase):
    def test_training_is_planned(self):
        for name, (settings, nodes) in PUBLISHED.items():
            sets = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
            done = run("plan-graph", name, *sets, "--topology", f"dgx-a100x{nodes}", "--train",
                       "--batch", "64", "--precision", "bf16", "--json", "-", "-q")
            with self.subTest(name):
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                self.assertTrue(report["fits"])
                self.assertLessEqual(report["lower_bound_us"], report["simulated_us"])


if __name__ == "__main__":
    unittest.main()
