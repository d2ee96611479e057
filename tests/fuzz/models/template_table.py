"""The table of templates: for each ONNX operator one function that picks operands from a model
builder's pool and appends the node with attributes that its opset has. Types are letters as in
random_models.py: f d h b for floats, l i B c for integers, ? for booleans."""

from random_models import FLOATS, Unfit

ANY = FLOATS + "liBc?"

# (operators, first opset, last opset, weight, function)
TEMPLATES = []


def template(operators, since=7, until=99, weight=1.0):
    def register(function):
        for op in operators.split():
            TEMPLATES.append((op, since, until, weight, function))
        return function
    return register


def covered():
    return {entry[0] for entry in TEMPLATES}


def leave_out(operators):
    TEMPLATES[:] = [t for t in TEMPLATES if t[0] not in operators]


def add_random_node(b, only=None):
    usable = [t for t in TEMPLATES if t[1] <= b.opset <= t[2] and (only is None or t[0] == only)]
    if not usable:
        raise Unfit
    op, _, _, _, function = b.random.choices(usable, [t[3] for t in usable])[0]
    function(b, op)


def same(b, op, x, inputs=None, **attributes):
    """A node with one result like its first operand."""
    return b.node(op, inputs or [x], [x.type], [x.shape], **attributes)


def broadcast(*shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    result = []
    for sizes in zip(*padded):
        large = {s for s in sizes if s != 1}
        if len(large) > 1:
            raise Unfit
        result.append(large.pop() if large else 1)
    return tuple(result)
