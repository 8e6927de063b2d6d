"""The examples in docstrings run, and the documented defaults are the real ones."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import exactsvm

MODULES = sorted(
    {"exactsvm"} | {m.name for m in pkgutil.iter_modules(exactsvm.__path__, "exactsvm.")}
)
KERNEL = [exactsvm.SVC, exactsvm.NuSVC, exactsvm.SVR, exactsvm.NuSVR, exactsvm.OneClassSVM]
LINEAR = [exactsvm.LinearSVC, exactsvm.LinearSVR]
CALLABLES = [
    *KERNEL,
    *LINEAR,
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


def tables_of_defaults():
    """Tables of docs/api.md that begin with a column of parameters: {column: {name: text}}."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text(encoding="utf-8")
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = (
            [cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()
        )
        if head[0] != "parameter":
            continue
        columns = {}
        for k, column in enumerate(head[1:-1], 1):
            columns[column] = {}
            for row in rows:
                names, defaults = (re.findall(r"`([^`]+)`", row[i]) for i in (0, k))
                assert len(defaults) in (0, len(names)), row
                columns[column].update(zip(names, defaults, strict=False))
        found.append(columns)
    return found


def test_tables_of_defaults_are_those_of_the_signatures():
    first, second, linear = tables_of_defaults()
    kernel = {**first["default"], **second["default"]}
    documented = {cls: kernel for cls in KERNEL} | {cls: linear[cls.__name__] for cls in LINEAR}
    for cls, table in documented.items():
        for name, parameter in inspect.signature(cls).parameters.items():
            assert eval(table[name]) == parameter.default, (cls, name)
    for classes, names in ((KERNEL, kernel), *(([cls], documented[cls]) for cls in LINEAR)):
        for name in names:
            assert any(name in inspect.signature(cls).parameters for cls in classes), name
