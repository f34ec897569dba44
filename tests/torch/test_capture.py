"""What a recorded run must not miss: values written through views, what a module makes anew, ways that cannot be followed."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

import weighbridge
from tests.torch.modules import Calls
from weighbridge.errors import BadModel, NeedsShape
from weighbridge.frontends.from_torch import load_torch
from weighbridge.report import Report


def weighed(model: nn.Module, *inputs: torch.Tensor) -> Report:
    return weighbridge.weigh(load_torch(model, inputs))


def filled(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
    buffer = torch.zeros(x.shape)
    buffer[:, :2] = x[:, :2]
    buffer[:, 2:] = x[:, 2:]
    return self.layer(buffer)


def filled_ids(self: nn.Module, ids: torch.Tensor) -> torch.Tensor:
    longer = torch.zeros(ids.shape[0], ids.shape[1] + 1, dtype=torch.long)
    longer[:, 1:] = ids
    return self.layer(self.table(longer))


def through_a_view(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
    start = torch.ones(4, 8)
    rows = start.view(2, 16)
    rows.add_(x.reshape(2, 16))
    return self.layer(start)


def through_data(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return self.layer((2 * x).data)


@pytest.mark.parametrize("function", [filled, through_a_view, through_data])
def test_what_is_written_through_a_view_is_read(function) -> None:  # type: ignore[no-untyped-def]
    """Else the layer would look as if it depended on no input, and cost nothing."""
    report = weighed(Calls(function, layer=nn.Linear(8, 16)), torch.rand(4, 8))
    assert (report.facts.macs, report.facts.exact) == (4 * 8 * 16, True)
    assert report.network.capture.startswith("traced")


def test_whole_numbers_that_would_become_wrong_are_given_up() -> None:
    model = Calls(filled_ids, table=nn.Embedding(10, 8), layer=nn.Linear(8, 16))
    report = weighed(model, torch.zeros(3, 4, dtype=torch.long))
    assert (report.facts.macs, report.facts.exact) == (3 * 5 * 8 * 16, True)
    assert report.network.capture.startswith("traced")


def test_sizes_computed_from_constants_are_known() -> None:
    def windows(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        ends = torch.arange(1, 4).cumsum(0)
        return self.layer(x[:, : int(ends[-1])])

    report = weighed(Calls(windows, layer=nn.Linear(6, 2)), torch.rand(5, 9))
    assert report.facts.macs == 5 * 6 * 2
    assert report.network.capture.startswith("traced")


def test_a_contraction_of_parameters_alone_runs_each_time() -> None:
    """A file's runtime computes it beforehand; PyTorch computes it at every call, as every counter of PyTorch says."""

    def adapted(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.linear(x, self.layer.weight + self.up.weight @ self.down.weight)

    members = {
        "layer": nn.Linear(32, 64, bias=False),
        "down": nn.Linear(32, 4, bias=False),
        "up": nn.Linear(4, 64, bias=False),
    }
    facts = weighed(Calls(adapted, **members), torch.rand(10, 32)).facts
    assert facts.macs == 10 * 32 * 64 + 64 * 4 * 32
    assert (facts.weights, facts.parameters) == (32 * 64 + 32 * 4 + 4 * 64,) * 2


def test_a_branch_on_values_runs_once_with_them() -> None:
    def branch(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) if x.sum() > 0 else x

    model = Calls(branch, layer=nn.Linear(8, 16))
    positive, negative = weighed(model, torch.ones(4, 8)), weighed(model, -torch.ones(4, 8))
    assert (positive.facts.macs, negative.facts.macs) == (4 * 8 * 16, 0)
    assert "the counts hold for that input" in positive.network.capture


def test_a_module_called_in_two_places_is_shown_in_both() -> None:
    shared = nn.Linear(8, 8)
    model = nn.Sequential(nn.Sequential(shared, nn.ReLU()), nn.Sequential(shared))
    report = weighed(model, torch.rand(4, 8))
    assert [node.scope for node in report.nodes if node.macs] == ["0.0", "1.0"]
    assert (report.facts.parameters, report.facts.macs) == (72, 2 * 4 * 64)


def test_parameters_that_are_not_used_are_named() -> None:
    model = Calls(lambda self, x: self.used(x), used=nn.Linear(8, 8), spare=nn.Linear(8, 3))
    report = weighed(model, torch.rand(1, 8))
    assert report.facts.parameters == 72 + 27
    assert any("spare.weight" in note and "27" in note for note in report.notes)


def test_lazy_parameters_are_sized_by_the_run() -> None:
    report = weighed(nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(3)), torch.rand(2, 7))
    assert (report.facts.parameters, report.facts.macs) == (40 + 18, 2 * (35 + 15))


def test_wrong_shapes_name_the_module_and_what_it_saw() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.Linear(9, 2)))
    with pytest.raises(BadModel, match=r"^1\.0: .*4x8 float32"):
        load_torch(model, (torch.rand(4, 8),))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_error_is_the_model_s_own_wherever_it_lies(device: str) -> None:
    with torch.device(device):
        model = nn.Sequential(nn.Conv2d(3, 4, 3))
    with pytest.raises(
        BadModel, match=r"^0: the module raised RuntimeError when called with 1x2x8x8 float32: .*channel"
    ):
        load_torch(model, (torch.rand(1, 2, 8, 8),))


def test_missing_arguments_are_asked_for() -> None:
    with pytest.raises(NeedsShape, match="input1"):
        load_torch(nn.Bilinear(2, 3, 4), (torch.rand(1, 2),)[:0])


def test_a_module_that_cannot_be_copied_says_so() -> None:
    model = nn.Linear(2, 2)
    model.lock = threading.Lock()
    with pytest.raises(BadModel, match=r"cannot be copied.*copy\.deepcopy"):
        load_torch(model, (torch.rand(1, 2),))


def test_a_module_that_takes_derivatives_is_recorded_with_them() -> None:
    def gradient(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(self.layer(x).sum(), x)[0]

    report = weighed(Calls(gradient, layer=nn.Linear(8, 3)), torch.rand(4, 8))
    assert report.facts.macs == 4 * 8 * 3 * 2  # the layer, and its transpose on the way back
    assert report.facts.exact


def test_operators_of_somebody_else_s_stay_and_are_named() -> None:
    @torch.library.custom_op("weighbridge_tests::fill", mutates_args={"x"})
    def fill(x: torch.Tensor, y: torch.Tensor) -> None:
        x.copy_(y)

    @torch.library.register_fake("weighbridge_tests::fill")
    def _(x: torch.Tensor, y: torch.Tensor) -> None:
        return None

    def forward(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        filled = torch.empty_like(x)
        torch.ops.weighbridge_tests.fill(filled, x)
        return self.layer(filled)

    facts = weighed(Calls(forward, layer=nn.Linear(8, 3)), torch.rand(4, 8)).facts
    assert (facts.macs, facts.exact) == (4 * 8 * 3, False)
    assert [missing.operator for missing in facts.uncounted] == ["weighbridge_tests.fill"]


def test_nested_tensors_are_refused_with_a_way_out() -> None:
    def nested(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        rows = torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged)
        return self.layer(rows).values()

    with pytest.raises(BadModel, match=r"nested tensors.*padded"):
        load_torch(Calls(nested, layer=nn.Linear(8, 3)), (torch.rand(4, 8),))


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_is_one_call() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    def forward(self: nn.Module, q: torch.Tensor) -> torch.Tensor:
        return flex_attention(q, q, q, score_mod=lambda score, *_: score * 2)

    report = weighed(Calls(forward), torch.rand(1, 4, 16, 32))
    assert (report.facts.macs, report.facts.exact) == (2 * 4 * 16 * 16 * 32, True)
    assert [node.operator for node in report.nodes] == ["attention"]


def test_a_condition_counts_the_branch_that_runs() -> None:
    def forward(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, self.one.forward, lambda x: self.other(self.other(x)), (x,))

    model = Calls(forward, one=nn.Linear(8, 8), other=nn.Linear(8, 8))
    assert weighed(model, torch.ones(4, 8)).facts.macs == 4 * 8 * 8
    assert weighed(model, -torch.ones(4, 8)).facts.macs == 2 * 4 * 8 * 8


def test_what_is_written_into_a_list_of_tensors_is_not_left_out() -> None:
    def forward(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        torch._foreach_add_([total], [x])
        return self.layer(total)

    facts = weighed(Calls(forward, layer=nn.Linear(8, 3)), torch.rand(4, 8)).facts
    assert (facts.macs, facts.exact, facts.work_exact) == (4 * 8 * 3, False, False)
    assert [missing.operator for missing in facts.uncounted] == ["aten._foreach_add"]
