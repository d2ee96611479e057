"""Networks as people write them in PyTorch, for those that torchvision lacks. It needs torch."""

import math

import torch
from torch import nn


class UNet(nn.Module):
    """Halves the image `depth` times and doubles it again, with a shortcut at each size."""

    def __init__(self, width=32, depth=4, classes=2):
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(self.block(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2)
                                for a, b in zip(widths, widths[1:]))
        self.join = nn.ModuleList(self.block(2 * each, each) for each in widths[:-1])
        self.head = nn.Conv2d(width, classes, 1)
        self.pool = nn.MaxPool2d(2)

    @staticmethod
    def block(channels, width):
        layers = []
        for inputs in (channels, width):
            layers += [nn.Conv2d(inputs, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
                       nn.ReLU(inplace=True)]
        return nn.Sequential(*layers)

    def forward(self, x):
        shortcuts = []
        for block in self.down[:-1]:
            shortcuts.append(block(x))
            x = self.pool(shortcuts[-1])
        x = self.down[-1](x)
        for up, join, shortcut in reversed(list(zip(self.up, self.join, shortcuts))):
            x = join(torch.cat([shortcut, up(x)], dim=1))
        return self.head(x)


class Attention(nn.Module):
    """Self-attention. `fused` computes query, key and value by one product that is split."""

    def __init__(self, hidden, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.project = nn.ModuleList(nn.Linear(hidden, width)
                                     for width in ([3 * hidden] if fused else 3 * [hidden]))
        self.out = nn.Linear(hidden, hidden)

    def forward(self, x, mask):
        """mask: a function of the scores."""
        batch, length, hidden = x.shape
        parts = [linear(x) for linear in self.project]
        if self.fused:
            parts = parts[0].split(hidden, dim=2)
        query, key, value = (part.view(batch, length, self.heads, -1).permute(0, 2, 1, 3)
                             for part in parts)
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(hidden // self.heads)
        mixed = torch.matmul(torch.softmax(mask(scores), dim=-1), value)
        return self.out(mixed.permute(0, 2, 1, 3).contiguous().view(batch, length, hidden))


def tanh_gelu(x):
    """The approximation of GPT-2's original code."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Gpt2(nn.Module):
    """A causal decoder: norms before attention and perceptron, logits by the tied embedding."""

    def __init__(self, hidden=384, layers=6, heads=6, length=128, vocabulary=5000):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(length, hidden)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "attention_norm": nn.LayerNorm(hidden), "attention": Attention(hidden, heads, fused=True),
            "norm": nn.LayerNorm(hidden), "widen": nn.Linear(hidden, 4 * hidden),
            "narrow": nn.Linear(4 * hidden, hidden)}) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)
        self.register_buffer("causal", torch.ones(length, length).tril().bool())
        nn.init.normal_(self.tokens.weight, std=0.05)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length))
        visible = self.causal[:length, :length]
        lowest = torch.tensor(torch.finfo(x.dtype).min)

        def mask(scores):
            return torch.where(visible, scores, lowest)

        for layer in self.layers:
            x = x + layer["attention"](layer["attention_norm"](x), mask)
            x = x + layer["narrow"](tanh_gelu(layer["widen"](layer["norm"](x))))
        return torch.matmul(self.norm(x), self.tokens.weight.t())


class Bert(nn.Module):
    """An encoder: norms after each sum, a padding mask that is added to the scores, a pooler."""

    def __init__(self, hidden=512, layers=6, heads=8, length=128, vocabulary=5000):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(length, hidden)
        self.segments = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(nn.ModuleDict({
            "attention": Attention(hidden, heads, fused=False),
            "attention_norm": nn.LayerNorm(hidden, eps=1e-12),
            "widen": nn.Linear(hidden, 4 * hidden), "narrow": nn.Linear(4 * hidden, hidden),
            "norm": nn.LayerNorm(hidden, eps=1e-12)}) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden)

    def forward(self, tokens, attention_mask, segments):
        hidden = self.tokens(tokens) + self.segments(segments)
        x = self.norm(hidden + self.positions(torch.arange(tokens.shape[1])))
        padding = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0

        def mask(scores):
            return scores + padding

        for layer in self.layers:
            x = layer["attention_norm"](x + layer["attention"](x, mask))
            wide = nn.functional.gelu(layer["widen"](x))
            x = layer["norm"](x + layer["narrow"](wide))
        return x, torch.tanh(self.pooler(x[:, 0]))


class Lstm(nn.Module):
    """Two layers of PyTorch's own LSTM and a classifier of the last state."""

    def __init__(self, inputs=128, hidden=256, classes=10):
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, sequence):
        return self.head(self.lstm(sequence)[0][:, -1])


class UnrolledLstm(nn.Module):
    """One LSTM cell from two products of matrices, unrolled over the sequence."""

    def __init__(self, inputs=256, hidden=256):
        super().__init__()
        self.from_input = nn.Linear(inputs, 4 * hidden)
        self.from_state = nn.Linear(hidden, 4 * hidden)
        self.hidden = hidden

    def forward(self, sequence):
        state = cell = torch.zeros(sequence.shape[0], self.hidden)
        for step in sequence.unbind(dim=1):
            gates = self.from_input(step) + self.from_state(state)
            admit, forget, new, show = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(admit) * torch.tanh(new)
            state = torch.sigmoid(show) * torch.tanh(cell)
        return state


class Tiny(nn.Module):
    """The smallest network: for tests of the tools around it."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
                                    nn.Linear(8 * 6 * 6, 10))

    def forward(self, x):
        return self.layers(x)
