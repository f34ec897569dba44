"""Random small networks for property tests: every construct that a pass, a count or a memory plan treats in its own way."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from weighbridge.builder import Builder
from weighbridge.dtypes import DTYPES, DType, integer_of
from weighbridge.graph import BRANCH, LOOP, UNKNOWN, Body, Graph, Role, Tensor, TensorType

FLOAT, INT8, INT32 = DTYPES["float32"], DTYPES["int8"], DTYPES["int32"]


class Growing:
    """A graph under construction; every step adds one construct to a tensor that is there."""

    def __init__(self, draw: st.DrawFn, name: str, prefix: str = "") -> None:
        self.draw = draw
        self.builder = Builder(name)
        self.prefix = prefix
        self.count = 0
        self.maps: list[str] = []  # float tensors of four dimensions
        self.shared: list[str] = []  # weights used before

    def id(self, stem: str) -> str:
        self.count += 1
        return f"{self.prefix}{stem}{self.count}"

    def shape(self, tensor: str) -> tuple[int, ...]:
        shape = self.builder.tensors[tensor].shape
        assert shape is not None
        return shape

    def input(self) -> None:
        shape = (1, self.draw(st.sampled_from([2, 4])), self.draw(st.integers(1, 5)), self.draw(st.integers(1, 5)))
        self.maps.append(self.builder.input(self.id("x"), shape, FLOAT))

    def pick(self) -> str:
        return self.draw(st.sampled_from(self.maps[-6:]))

    def stored(self, stem: str, shape: tuple[int, ...], role: Role = Role.PARAMETER, dtype=FLOAT) -> str:
        return self.builder.stored(self.id(stem), shape, dtype, role)

    def add(self, operator: str, operands, attributes=None, stem: str = "") -> str:
        name = self.id(stem or operator)
        return self.builder.add(operator, operands, attributes, name=name, scope=f"block{self.count % 3}")[0]

    def conv(self) -> str:
        x = self.pick()
        c_i = self.shape(x)[1]
        groups = self.draw(st.sampled_from([1, 2]))
        c_o = self.draw(st.sampled_from([2, 4]))
        shape = (c_o, c_i // groups, 1, 1)
        known = [w for w in self.shared if self.builder.tensors[w].shape == shape]
        if known and self.draw(st.booleans()):
            w = known[0]
        else:
            w = self.stored("w", shape)
            self.shared.append(w)
        operands = [("x", x), ("w", w)]
        if self.draw(st.booleans()):
            operands.append(("b", self.stored("b", (c_o,))))
        return self.add("conv", operands, {"groups": groups})

    def transposed_weight(self) -> str:
        """A matrix product with a weight that is transposed, perhaps twice used, before it is multiplied."""
        x = self.pick()
        width = self.shape(x)[3]
        shape = (self.draw(st.integers(1, 4)), width)
        known = [w for w in self.shared if self.builder.tensors[w].shape == shape]
        w = known[0] if known else self.stored("w", shape)
        self.shared.append(w)
        turned = self.add("transpose", [("x", w)])
        return self.add("matmul", [("x", x), ("w", turned)])

    def channel_add(self) -> str:
        x = self.pick()
        shape = self.draw(
            st.sampled_from([(self.shape(x)[1], 1, 1), (1, self.shape(x)[1], 1, 1), self.shape(x)[3:], ()])
        )
        pair = [x, self.stored("v", shape)]
        if self.draw(st.booleans()):
            pair.reverse()
        return self.add("add", list(zip("ab", pair, strict=True)))

    def expanded_add(self) -> str:
        x = self.pick()
        grown = self.add("expand", [("x", self.stored("token", (1, 1, 1, 1)))], {"shape": self.shape(x)})
        return self.add("add", [("a", x), ("b", grown)])

    def norm(self) -> str:
        x = self.pick()
        channels = (self.shape(x)[1],)
        roles = {"scale": Role.PARAMETER, "bias": Role.PARAMETER, "mean": Role.BUFFER, "variance": Role.BUFFER}
        return self.add("batch_norm", [("x", x), *((n, self.stored(n, channels, r)) for n, r in roles.items())])

    def unary(self) -> str:
        operator = self.draw(st.sampled_from(["relu", "sigmoid", "clip", "identity", "dropout"]))
        return self.add(operator, [("x", self.pick())], {"low": 0, "high": 6} if operator == "clip" else {})

    def pair(self) -> str:
        x = self.pick()
        same = [y for y in self.maps if self.shape(y) == self.shape(x)]
        y = self.draw(st.sampled_from(same))
        operator = self.draw(st.sampled_from(["add", "mul", "concat"]))
        if operator == "concat":
            return self.add("concat", [("xs", x), ("xs", y)], {"axis": 2})
        return self.add(operator, [("a", x), ("b", y)])

    def view(self) -> str:
        x = self.pick()
        n, c, h, w = self.shape(x)
        flat = self.add("flatten", [("x", x)])
        return self.add("reshape", [("x", flat)], {"shape": (n, c, w, h)})

    def quantised(self) -> str:
        """A tensor through quantize and dequantize, as a QDQ file has it."""
        return self.through(self.pick())

    def through(self, x: str, dtype=INT8) -> str:
        scale = self.stored("scale", (), Role.BUFFER)
        zero = self.stored("zero", (), Role.BUFFER, dtype)
        q = self.add("quantize", [("x", x), ("scale", scale), ("zero_point", zero)])
        return self.add("dequantize", [("x", q), ("scale", scale), ("zero_point", zero)])

    def quantised_conv(self) -> str:
        x = self.through(self.pick())
        c_i = self.shape(x)[1]
        w = self.stored("wq", (4, c_i, 1, 1), dtype=INT8)
        w = self.add("dequantize", [("x", w), ("scale", self.stored("scale", (), Role.BUFFER))])
        b = self.stored("bq", (4,), dtype=INT32)
        b = self.add("dequantize", [("x", b), ("scale", self.stored("scale", (), Role.BUFFER))])
        y = self.add("conv", [("x", x), ("w", w), ("b", b)])
        if self.draw(st.booleans()):
            y = self.add("relu", [("x", y)])
        return self.through(y)

    def mystery(self) -> str:
        x = self.pick()
        name = self.id("mystery")
        self.builder.opaque(UNKNOWN, [("x", x)], [TensorType(self.shape(x), FLOAT)], name=name, origin="Mystery")
        return name

    def lost(self) -> str:
        """An unknown operator whose result has no known shape, and a function of that."""
        name = self.id("lost")
        self.builder.opaque(UNKNOWN, [("x", self.pick())], [None], name=name)
        self.add("relu", [("x", name)])
        return self.pick()

    def variable(self) -> str:
        """A variable, perhaps one that is there: read, passed through a function, and assigned, perhaps in a body."""
        x = self.pick()
        held = [one for one in self.builder.tensors.values() if one.role is Role.STATE and one.shape == self.shape(x)]
        state = held[0].id if held else self.builder.state(self.id("state"), self.shape(x), FLOAT)
        read = self.add("read_variable", [("state", state)])
        y = self.add("add", [("a", x), ("b", read)])
        written = Builder("body")
        written.state(state, self.shape(x), FLOAT)
        written.tensors[y] = self.builder.tensors[y]
        written.inputs.append(y)
        operands = [("state", state), ("x", y)]
        builder, in_body = self.builder, self.draw(st.booleans())
        (written if in_body else builder).add("assign_variable", operands, name=self.id("assign_variable"))
        if in_body:
            body = Body("body", written.graph([]), self.draw(st.sampled_from([0, 1, 3])))
            builder.opaque(LOOP, [("captures", y)], [], name=self.id(LOOP), bodies=[body])
        return y

    def control(self) -> str:
        x = self.pick()
        operator, trips = self.draw(st.sampled_from([(BRANCH, 1), (LOOP, 3), (LOOP, None)]))
        bodies = []
        for number in range(2 if operator == BRANCH else 1):
            inner = Growing(self.draw, f"body{number}", self.id("body") + "/")
            inner.builder.inputs.append(x)
            inner.builder.tensors[x] = self.builder.tensors[x]
            inner.maps.append(x)
            for w in self.shared[:1]:
                inner.builder.tensors[w] = self.builder.tensors[w]
                inner.shared.append(w)
            for _ in range(self.draw(st.integers(1, 3))):
                inner.maps.append(self.draw(st.sampled_from([inner.conv, inner.unary, inner.pair, inner.norm]))())
            last = inner.add("reshape", [("x", inner.maps[-1])], {"shape": (1, inner.size(inner.maps[-1]))})
            bodies.append(Body(inner.builder.name, inner.builder.graph([last]), trips))
        name = self.id(operator)
        self.builder.opaque(operator, [("captures", x)], [TensorType((1, 4), FLOAT)], name=name, bodies=bodies)
        return x

    def number(self) -> str:
        return self.stored("number", (), Role.CONSTANT)

    def passed_by(self, tensor: str) -> str:
        """``tensor``, which something that comes later may read, too."""
        if self.draw(st.integers(0, 5)) == 0:
            self.maps.append(tensor)
        return tensor

    def written_gelu(self) -> str:
        x = self.pick()
        y = self.passed_by(self.add("mul", [("a", x), ("b", self.number())]))
        y = self.passed_by(self.add("add", [("a", self.add("erf", [("x", y)])), ("b", self.number())]))
        y = self.passed_by(self.add("mul", [("a", x), ("b", y)]))
        return self.add("mul", [("a", y), ("b", self.number())])

    def written_norm(self) -> str:
        x = self.pick()
        axes = {"axes": self.draw(st.sampled_from([(-1,), (3,), (1,), (2, 3)]))}
        centred = self.passed_by(self.add("sub", [("a", x), ("b", self.add("reduce_mean", [("x", x)], axes))]))
        y = self.add("reduce_mean", [("x", self.add("mul", [("a", centred), ("b", centred)]))], axes)
        y = self.add("sqrt", [("x", self.add("add", [("a", y), ("b", self.number())]))])
        y = self.passed_by(self.add("div", [("a", centred), ("b", y)]))
        return self.add("mul", [("a", y), ("b", self.stored("scale", self.shape(x)[3:]))])

    def written_attention(self) -> str:
        x = self.pick()
        k = self.passed_by(self.add("transpose", [("x", x)], {"permutation": (0, 1, 3, 2)}))
        y = self.passed_by(self.add("matmul", [("x", x), ("w", k)]))
        y = self.passed_by(self.add("div", [("a", y), ("b", self.number())]))
        y = self.passed_by(self.add("softmax", [("x", y)], {"axis": self.draw(st.sampled_from([-1, 3, 2]))}))
        return self.add("matmul", [("x", y), ("w", x)])

    def size(self, tensor: str) -> int:
        elements = self.builder.tensors[tensor].elements
        assert elements is not None
        return elements


PLAIN = ("conv", "transposed_weight", "channel_add", "expanded_add", "norm", "unary", "unary", "pair", "view")
WRITTEN_OUT = ("written_gelu", "written_norm", "written_attention")
QUANTISED = ("quantised", "quantised_conv")
STRANGE = ("mystery", "control", "variable")


@st.composite
def graphs(
    draw: st.DrawFn, kinds: tuple[str, ...] = (*PLAIN, *QUANTISED, *STRANGE, *WRITTEN_OUT), largest: int = 14
) -> Graph:
    """A verified graph of up to ``largest`` constructs, with one to three outputs."""
    growing = Growing(draw, "random")
    for _ in range(draw(st.integers(1, 2))):
        growing.input()
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=largest)):
        growing.maps.append(getattr(growing, kind)())
    last = growing.maps[-1]
    more = draw(st.lists(st.sampled_from(growing.maps), max_size=2))
    return growing.builder.graph(list(dict.fromkeys([last, *more])))


def with_odd_types(graph: Graph, draw: st.DrawFn) -> Graph:
    """``graph`` with some tensors of types that no table has, or of unknown shape."""
    kinds = [integer_of(3), integer_of(5), DType("fp6_block", "block", 200, 32), DTYPES["string"], FLOAT]
    tensors = {}
    for key, tensor in graph.tensors.items():
        dtype = draw(st.sampled_from(kinds))
        shape = None if draw(st.integers(0, 9)) == 0 else tensor.shape
        tensors[key] = Tensor(key, shape, dtype, tensor.role)
    return replace(graph, tensors=tensors)
