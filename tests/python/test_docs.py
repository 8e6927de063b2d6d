"""The examples in docstrings run, and the documented defaults are the real ones."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import exactsvm

MODULES = sorted(
    {"exactsvm"} | {m.name for m in pkgutil.iter_modules(exactsvm.__path__, "exactsvm.")}
)
CALLABLES = [
    exactsvm.SVC,
    exactsvm.LinearSVC,
    exactsvm.LinearSVR,
    exactsvm.solve_dual,
    exactsvm.pairwise_kernel,
    exactsvm.verify,
]


@pytest.mark.parametrize("name", [m for m in MODULES if m != "exactsvm._core"])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


@pytest.mark.parametrize("name", [n for n in exactsvm.__all__ if n != "__version__"])
def test_public_names_have_an_example(name):
    assert ">>>" in getattr(exactsvm, name).__doc__


@pytest.mark.parametrize("function", CALLABLES, ids=lambda f: f.__name__)
def test_documented_defaults(function):
    section = (
        function.__doc__.split("Parameters\n")[1].split("Returns\n")[0].split("Attributes\n")[0]
    )
    for name, parameter in inspect.signature(function).parameters.items():
        line = re.search(rf"^    {name} : (.*)$", section, re.MULTILINE)
        assert line is not None, name
        if parameter.default is inspect.Parameter.empty:
            assert "default=" not in line[1], name
        else:
            written = re.search(r"default=(.+)$", line[1])[1]
            assert eval(written) == parameter.default, name
