"""How random models are made of random nodes. The modules of nodes fill the table of templates in the
order in which they are imported, and a seed means a model only as long as that order stays."""

import elementwise_nodes  # noqa: F401
import contraction_nodes  # noqa: F401
import normalization_nodes  # noqa: F401
import reduction_nodes  # noqa: F401
import layout_nodes  # noqa: F401
import selection_nodes  # noqa: F401
import constant_nodes  # noqa: F401
import transform_nodes  # noqa: F401
import special_nodes  # noqa: F401
from random_models import Unfit
from template_table import add_random_node, covered, leave_out

__all__ = ["add_random_node", "covered", "draw_model", "leave_out"]


def draw_model(builder, least=3, most=15, source=None):
    """Fills a builder with nodes. `source`: (model, which inputs are constants) of a rule."""
    before = builder.random.randrange(4) if source else 0
    count = builder.random.randint(least, most)
    tries = 0
    if source and before == 0:
        builder.embed(*source)
    while len(builder.nodes) < count and tries < 4 * count:
        tries += 1
        if source and before and len(builder.nodes) >= before:
            builder.embed(*source)
            before = 0
        try:
            if builder.nodes and builder.chance(0.05):
                builder.repeat_a_node()
            else:
                add_random_node(builder)
        except Unfit:
            pass
    if source and before:
        builder.embed(*source)
