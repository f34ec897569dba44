"""Random first stages of networks: windows of every kind, residuals, joins, crops, borders, both layouts."""

from __future__ import annotations

from hypothesis import strategies as st

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES
from weighbridge.errors import GraphError
from weighbridge.graph import Graph, Role

__all__ = ["random_stages"]

FLOAT = DTYPES["float32"]
_MOST_CHANNELS = 12


class _Growing:
    """Steps on the tensor that the network has come to; ``last`` says whether its channels stand last."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.builder = Builder("random")
        self.count = 0
        self.last = False
        shape = (1, draw(st.integers(1, 3)), draw(st.integers(4, 19)), draw(st.integers(4, 19)))
        self.x = self.builder.input("x", shape, FLOAT)

    @property
    def layout(self) -> str:
        return "channels_last" if self.last else "channels_first"

    @property
    def channel_axis(self) -> int:
        return 3 if self.last else 1

    def shape(self, tensor: str) -> tuple[int, ...]:
        return self.builder.tensors[tensor].shape

    def channels(self, tensor: str) -> int:
        return self.shape(tensor)[self.channel_axis]

    def add(self, operator: str, operands, attributes=None) -> str:
        self.count += 1
        return self.builder.add(operator, operands, attributes, name=f"{operator}{self.count}")[0]

    def stored(self, shape: tuple[int, ...]) -> str:
        self.count += 1
        return self.builder.stored(f"w{self.count}", shape, FLOAT, Role.PARAMETER)

    def window(self) -> dict[str, object]:
        pads = st.one_of(
            st.integers(0, 2),
            st.tuples(*[st.integers(0, 2)] * 2),
            st.tuples(*[st.integers(0, 2)] * 4),
            st.sampled_from(["same_upper", "same_lower", "valid"]),
        )
        pair = lambda most: st.one_of(st.integers(1, most), st.tuples(st.integers(1, most), st.integers(1, most)))  # noqa: E731
        return {
            "stride": self.draw(pair(3)),
            "dilation": self.draw(pair(2)),
            "padding": self.draw(pads),
            "layout": self.layout,
        }

    def conv(self, x: str, **fixed: object) -> str:
        c_i = self.channels(x)
        groups = self.draw(st.sampled_from([one for one in (1, 2, c_i) if c_i % one == 0]))
        c_o = min(groups * self.draw(st.integers(1, 2)), _MOST_CHANNELS)
        if c_o % groups:
            groups, c_o = 1, 2
        taps = (self.draw(st.integers(1, 4)), self.draw(st.integers(1, 4)))
        w = self.stored((c_o, *taps, c_i // groups) if self.last else (c_o, c_i // groups, *taps))
        operands = [("x", x), ("w", w)]
        if self.draw(st.booleans()):
            operands.append(("b", self.stored((c_o,))))
        weight_layout = "o_spatial_i" if self.last else "oi_spatial"
        return self.add("conv", operands, {**self.window(), **fixed, "groups": groups, "weight_layout": weight_layout})

    def pool(self, x: str) -> str:
        kernel = (self.draw(st.integers(1, 3)), self.draw(st.integers(1, 3)))
        around = self.draw(st.tuples(*[st.integers(0, (side - 1) // 2) for side in (*kernel, *kernel)]))
        attributes = {**self.window(), "kernel": kernel, "padding": around, "dilation": 1}
        attributes["ceil_mode"] = self.draw(st.booleans())
        if self.draw(st.booleans()):
            return self.add("max_pool", [("x", x)], attributes)
        return self.add("average_pool", [("x", x)], {**attributes, "count_include_pad": self.draw(st.booleans())})

    def residual(self, x: str) -> str:
        """x and what windows of stride 1 make of it, added up, or joined."""
        kept = {"stride": 1, "padding": self.draw(st.sampled_from(["same_upper", "same_lower"]))}
        inner = self.conv(self.function(x), **kept)
        if self.draw(st.booleans()):
            inner = self.conv(inner, **kept)
        if self.channels(inner) == self.channels(x) and self.draw(st.booleans()):
            return self.add("add", [("a", inner), ("b", x)])
        if self.channels(inner) + self.channels(x) > _MOST_CHANNELS:
            return inner
        return self.add("concat", [("xs", x), ("xs", inner)], {"axis": self.channel_axis})

    def shared(self, x: str) -> str:
        """Its channels shared out: windows over some, others as they are, joined again; or one share alone."""
        c = self.channels(x)
        if c < 2:
            return x
        equal = self.draw(st.booleans()) and c % 2 == 0
        sizes = {"parts": 2} if equal else {"sizes": (1, c - 1)}
        self.count += 1
        shares = self.builder.add("split", [("x", x)], {"axis": self.channel_axis, **sizes}, name=f"split{self.count}")
        first, second = self.draw(st.permutations(shares))
        kept = {"stride": 1, "padding": self.draw(st.sampled_from(["same_upper", "same_lower"]))}
        first = self.conv(first, **kept)
        if self.draw(st.booleans()):
            return first
        return self.add("concat", [("xs", first), ("xs", second)], {"axis": self.channel_axis})

    def function(self, x: str) -> str:
        return self.add("relu", [("x", x)]) if self.draw(st.booleans()) else x

    def norm(self, x: str) -> str:
        each = [(name, self.stored((self.channels(x),))) for name in ("scale", "bias", "mean", "variance")]
        return self.add("batch_norm", [("x", x), *each], {"layout": self.layout})

    def bordered(self, x: str) -> str:
        rows = 1 if self.last else 2
        pads = self.draw(st.tuples(*[st.integers(-1, 2)] * 4))
        return self.add("pad", [("x", x)], {"pads": pads, "axes": (rows, rows + 1)})

    def cropped(self, x: str) -> str:
        rows = 1 if self.last else 2
        starts = self.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
        steps = self.draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
        ends = tuple(self.shape(x)[rows + axis] - self.draw(st.integers(0, 1)) for axis in (0, 1))
        return self.add("slice", [("x", x)], {"starts": starts, "ends": ends, "axes": (rows, rows + 1), "steps": steps})

    def scaled(self, x: str) -> str:
        """By a map that is stored, or by a number for each channel."""
        shape = (
            self.shape(x)
            if self.draw(st.booleans())
            else tuple(size if axis == self.channel_axis else 1 for axis, size in enumerate(self.shape(x)))
        )
        return self.add("mul", [("a", x), ("b", self.stored(shape))])

    @property
    def rows(self) -> int:
        return 1 if self.last else 2

    def sizes(self, x: str) -> tuple[int, int]:
        return self.shape(x)[self.rows : self.rows + 2]

    def shuffled(self, x: str) -> str:
        """As ShuffleNet does it: groups of channels, taken in turns."""
        shape, axis, c = self.shape(x), self.channel_axis, self.channels(x)
        if c % 2 or 1 in self.sizes(x):
            return x
        apart = (*shape[:axis], 2, c // 2, *shape[axis + 1 :])
        order = [*range(len(apart))]
        order[axis : axis + 2] = axis + 1, axis
        y = self.add("reshape", [("x", x)], {"shape": apart})
        y = self.add("transpose", [("x", y)], {"permutation": tuple(order)})
        return self.add("reshape", [("x", y)], {"shape": shape})

    def unshuffled_pixels(self, x: str) -> str:
        """Pixels laid out as channels or the other way round, as an operator or as reshapes."""
        c, (down, across) = self.channels(x), self.sizes(x)
        if c % 4 == 0:
            return self.add("depth_to_space", [("x", x)], {"block_size": 2, "layout": self.layout})
        if down % 2 or across % 2 or 4 * c > _MOST_CHANNELS or min(down, across) < 4:
            return x
        if self.last or self.draw(st.booleans()):
            return self.add("space_to_depth", [("x", x)], {"block_size": 2, "layout": self.layout})
        y = self.add("reshape", [("x", x)], {"shape": (1, c, down // 2, 2, across // 2, 2)})
        y = self.add("transpose", [("x", y)], {"permutation": (0, 1, 3, 5, 2, 4)})
        return self.add("reshape", [("x", y)], {"shape": (1, 4 * c, down // 2, across // 2)})

    def resized(self, x: str) -> str:
        mode = self.draw(st.sampled_from(["nearest", "linear", "cubic"]))
        coordinates = st.sampled_from(
            ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn"]
        )
        rounding = st.sampled_from(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
        attributes = {"mode": mode, "coordinates": self.draw(coordinates), "rounding": self.draw(rounding)}
        if self.draw(st.booleans()):
            wanted = {"scales": tuple(self.draw(st.sampled_from([1.0, 2.0, 1.5, 3.0])) for _ in range(2))}
        else:
            wanted = {"sizes": tuple(self.draw(st.integers(2, 2 * size + 1)) for size in self.sizes(x))}
        return self.add("resize", [("x", x)], {**attributes, **wanted, "axes": (self.rows, self.rows + 1)})

    def transposed(self, x: str) -> str:
        c_i = self.channels(x)
        groups = self.draw(st.sampled_from([one for one in (1, 2) if c_i % one == 0]))
        taps = (self.draw(st.integers(1, 4)), self.draw(st.integers(1, 4)))
        window = {**self.window(), "groups": groups}
        if self.last:
            w, window["weight_layout"] = self.stored((2, *taps, c_i)), "o_spatial_i"
            window["groups"] = 1
        else:
            w, window["weight_layout"] = self.stored((c_i, 2 // groups, *taps)), "io_spatial"
        if not isinstance(window["padding"], str):
            window["output_padding"] = self.draw(st.tuples(st.integers(0, 1), st.integers(0, 1)))
        return self.add("conv_transpose", [("x", x), ("w", w), ("b", self.stored((2,)))], window)

    def mixed(self, x: str) -> str:
        """What puts channels together, or goes along them."""
        c, axis, shape = self.channels(x), self.channel_axis, self.shape(x)
        chosen = self.draw(
            st.sampled_from(
                ["softmax", "local_response_norm", "roll", "gather", "prelu", "tile", "quantize", "mean", "last"]
            )
        )
        if chosen == "softmax":
            return self.add("softmax", [("x", x)], {"axis": axis})
        if chosen == "local_response_norm":
            return self.add(chosen, [("x", x)], {"size": self.draw(st.integers(1, 5)), "layout": self.layout})
        if chosen == "roll":
            return self.add("roll", [("x", x)], {"shifts": (1,), "axes": (axis,)})
        if chosen == "prelu":
            slope = tuple(c if one == axis else 1 for one in range(4))
            return self.add("prelu", [("x", x), ("slope", self.stored(slope))])
        if chosen == "quantize":
            y = self.add("quantize", [("x", x), ("scale", self.stored((c,)))], {"axis": axis, "dtype": "int8"})
            return self.add("dequantize", [("x", y), ("scale", self.stored(()))], {"axis": axis})
        if chosen == "tile" and 2 * c <= _MOST_CHANNELS:
            return self.add("tile", [("x", x)], {"repeats": tuple(2 if one == axis else 1 for one in range(4))})
        if chosen == "mean":
            keeps = 1 in self.sizes(x) or self.draw(st.booleans())
            y = self.add("reduce_mean", [("x", x)], {"axes": (axis,), "keep_dims": keeps})
            y = y if keeps else self.add("unsqueeze", [("x", y)], {"axes": (axis,)})
            return (
                self.add("expand", [("x", y)], {"shape": shape})
                if self.draw(st.booleans())
                else self.add("mul", [("a", x), ("b", y)])
            )
        if chosen == "last" and self.last:
            y = self.add("layer_norm", [("x", x)], {"axis": -1})
            if self.draw(st.booleans()):
                return self.add("linear", [("x", y), ("w", self.stored((3, c))), ("b", self.stored((3,)))])
            return self.add("matmul", [("x", y), ("w", self.stored((c, 3)))], {"transpose_w": False})
        return x

    def pooled_to(self, x: str) -> str:
        sizes = self.sizes(x)
        if any(size % 2 or size < 4 for size in sizes):
            return x
        return self.add(
            "adaptive_average_pool",
            [("x", x)],
            {"output_size": tuple(size // 2 for size in sizes), "layout": self.layout},
        )

    def turned(self, x: str) -> str:
        """In the other layout."""
        self.last = not self.last
        return self.add("transpose", [("x", x)], {"permutation": (0, 2, 3, 1) if self.last else (0, 3, 1, 2)})


_STEPS = (
    "conv",
    "conv",
    "conv",
    "pool",
    "residual",
    "residual",
    "shared",
    "function",
    "norm",
    "bordered",
    "cropped",
    "scaled",
    "turned",
    "shuffled",
    "unshuffled_pixels",
    "resized",
    "transposed",
    "mixed",
    "mixed",
    "pooled_to",
)


@st.composite
def random_stages(draw: st.DrawFn) -> tuple[Graph, str]:
    """A network, and the name of the node that its stage ends with; what follows that is one more node."""
    growing = _Growing(draw)
    growing.x = growing.conv(growing.x, padding="same_upper")
    for step in draw(st.lists(st.sampled_from(_STEPS), max_size=5)):
        before, count, last = growing.x, growing.count, growing.last
        start = len(growing.builder.nodes)
        try:
            found = getattr(growing, step)(growing.x)
        except GraphError:
            growing.builder.take_back(start)
            growing.last = last
            continue
        if min(growing.shape(found)) < 1 or max(growing.shape(found)) > 80:
            growing.builder.take_back(start)
            growing.x, growing.last = before, last
            continue
        growing.x = found
        assert count <= growing.count
    end = growing.builder.nodes[-1].name
    growing.x = growing.add("relu", [("x", growing.x)])
    return growing.builder.graph([growing.x]), end
