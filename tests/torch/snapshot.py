"""Everything that weighing a model must leave alone, as a value that can be compared."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import sys
import threading
import types
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules import module as module_of_modules

__all__ = ["snapshot"]

PATCHABLE = (
    torch,
    torch.nn.functional,
    torch.nn.init,
    torch.Tensor,
    torch._C._TensorBase,
    torch.nn.Module,
    torch.nn.Parameter,
    torch.autograd,
    torch.jit,
    torch.random,
    torch.serialization,
    random,
    np.random,
)
"""Namespaces whose functions other counters replace while they count."""


def snapshot(*roots: object, modules: bool = True) -> dict[str, object]:
    """What is reachable from ``roots`` (modules, inputs, containers), and the state of PyTorch, Python and NumPy.

    ``modules`` says whether newly imported modules are looked for.
    """
    found: dict[str, object] = {}
    seen: dict[int, str] = {}
    for place, root in enumerate(roots):
        found.update(walk(root, str(place), seen))
    found.update(flags())
    found.update(random_states())
    for owner in (*PATCHABLE, *{type(module) for module in module_tree(roots)}):
        found[f"functions of {owner.__name__}"] = {name: id(value) for name, value in vars(owner).items()}
    if modules:
        found["modules"] = frozenset(sys.modules)
    return found


def module_tree(roots: Iterable[object]) -> Iterator[nn.Module]:
    for root in roots:
        if isinstance(root, nn.Module):
            yield from root.modules()


def walk(value: object, path: str, seen: dict[int, str]) -> Iterator[tuple[str, object]]:
    """Every object below ``value``: which one it is, and what it holds."""
    yield path, id(value)
    if id(value) in seen or isinstance(value, type | types.ModuleType | types.BuiltinFunctionType):
        return
    seen[id(value)] = path
    if isinstance(value, torch.Tensor):
        yield f"{path}: tensor", tensor(value)
    elif isinstance(value, Mapping):
        yield f"{path}: keys", [key if isinstance(key, str | int) else id(key) for key in value]
        for place, one in enumerate(value.values()):
            yield from walk(one, f"{path}[{place}]", seen)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for place, one in enumerate(value):
            yield from walk(one, f"{path}[{place}]", seen)
    elif isinstance(value, types.FunctionType | types.MethodType):
        yield f"{path}: code", id(value.__code__)
        for place, cell in enumerate(value.__closure__ or ()):
            yield from walk(cell.cell_contents, f"{path}<{place}>", seen)
    elif isinstance(value, np.ndarray):
        yield f"{path}: array", hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, nn.Module) and not isinstance(value, torch.jit.ScriptModule):
        yield f"{path}: state", list(value.state_dict())
        yield f"{path}: type", id(type(value))
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict) and not isinstance(value, type):
        yield from walk(held, f"{path}.", seen)


def tensor(value: torch.Tensor) -> tuple[object, ...]:
    """Identity, history and values of a tensor."""
    if isinstance(value, nn.parameter.UninitializedTensorMixin):
        return type(value), value.requires_grad
    kept: list[object] = [
        type(value),
        value.dtype,
        value.device,
        value.requires_grad,
        value.is_leaf,
        value.is_inference(),
    ]
    kept.append(None if value.is_inference() else value._version)
    if value.is_leaf or value.retains_grad:
        kept.append((id(value.grad), None if value.grad is None else tensor(value.grad)))
    kept.append(dict(value._backward_hooks or {}))
    kept += [tuple(value.shape), value.layout]
    if not value.is_meta and value.layout is torch.strided and type(value) in (torch.Tensor, nn.Parameter, nn.Buffer):
        kept += [value.data_ptr(), value.stride(), values(value)]
    return tuple(kept)


def values(value: torch.Tensor) -> str:
    plain = value.detach()
    plain = plain.int_repr() if plain.is_quantized else plain
    return hashlib.sha256(
        plain.contiguous().view(-1).view(torch.uint8).numpy().tobytes() if plain.numel() else b""
    ).hexdigest()


def flags() -> dict[str, object]:
    """Switches of PyTorch and of the interpreter."""
    backends = torch.backends
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "anomaly": (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.utils.deterministic.fill_uninitialized_memory,
        ),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads(), threading.active_count()),
        "matmul": torch.get_float32_matmul_precision(),
        "attention": (
            backends.mha.get_fastpath_enabled(),
            backends.cuda.flash_sdp_enabled(),
            backends.cuda.math_sdp_enabled(),
            backends.cuda.mem_efficient_sdp_enabled(),
        ),
        "cudnn": (
            backends.cudnn.enabled,
            backends.cudnn.benchmark,
            backends.cudnn.deterministic,
            backends.cudnn.allow_tf32,
        ),
        "mkldnn": backends.mkldnn.enabled,
        "quantised": backends.quantized.engine,
        "modes": (torch._C._len_torch_dispatch_stack(), torch._C._len_torch_function_stack()),
        "warn always": torch.is_warn_always_enabled(),
        "global hooks": [
            (name, list(hooks.items()))
            for name, hooks in vars(module_of_modules).items()
            if name.startswith("_global") and isinstance(hooks, dict)
        ],
        "tensor subclasses": torch._C._is_torch_function_enabled(),
        "saved tensor hooks": torch._C._autograd._top_saved_tensors_default_hooks(False),
        "warnings": list(warnings.filters),
        "interpreter": (
            sys.gettrace(),
            sys.getprofile(),
            sys.getrecursionlimit(),
            gc.isenabled(),
            list(sys.path),
            list(sys.meta_path),
        ),
        "process": (dict(os.environ) | {"PYTEST_CURRENT_TEST": ""}, os.getcwd()),  # noqa: PTH109
        "streams": (sys.stdout, sys.stderr),
    }


def random_states() -> dict[str, Any]:
    """Where the three generators stand."""
    kind, keys, *rest = np.random.get_state()
    return {
        "random of torch": torch.get_rng_state().tolist(),
        "random of Python": random.getstate(),
        "random of NumPy": (kind, keys.tolist(), rest),
    }
