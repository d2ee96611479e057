"""Random Fourier transforms, and the windows that signals are cut with."""

from template_table import template


@template("DFT", since=17, weight=0.3)
def dft(b, op):
    parts = b.choice([1, 1, 2])
    shape = [*b.shape(rank=b.choice([1, 2, 3])), parts]
    at = b.random.randrange(len(shape) - 1)
    length = b.choice([None, b.size(), shape[at] + 1])
    n = length or shape[at]
    onesided = parts == 1 and b.chance(0.5)
    inverse = not onesided and b.chance(0.3)
    given = [b.input("f", shape), b.scalar("l", n) if length else None]
    attributes = {"onesided": 1 if onesided else None, "inverse": 1 if inverse else None}
    axis = at - len(shape) if b.chance(0.3) else at
    if b.opset < 20:
        attributes["axis"] = axis
    else:
        given.append(b.scalar("l", axis))
    result = [*shape[:at], n // 2 + 1 if onesided else n, *shape[at + 1:-1], 2]
    b.node(op, given, ["f"], [result], **attributes)


@template("STFT", since=17, weight=0.2)
def stft(b, op):
    length, step, batch = b.random.randint(2, 8), b.random.randint(1, 4), b.size()
    samples = length + b.random.randint(0, 12)
    onesided = b.chance(0.7)
    window = b.choice([None, b.weight("f", (length,)), b.input("f", (length,))])
    frames = (samples - length) // step + 1
    b.node(op, [b.input("f", (batch, samples, 1)), b.scalar("l", step), window, b.scalar("l", length)],
           ["f"], [(batch, frames, length // 2 + 1 if onesided else length, 2)], onesided=int(onesided))


@template("HannWindow HammingWindow", since=17, weight=0.1)
def window(b, op):
    size = b.random.randint(2, 9)
    b.node(op, [b.scalar("l", size)], ["f"], [(size,)], periodic=b.choice([None, 0, 1]))
