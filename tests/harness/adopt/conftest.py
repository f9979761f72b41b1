"""Scripts of numpy alone, and one supervisor for all of them."""

import textwrap

import pytest

from harness.adopt import adoption
from harness.session import Session


@pytest.fixture(scope="module")
def adopt(tmp_path_factory):
    """`adopt(text, **options)` gives the repro's text and its outputs as lists. Raises NotAdopted."""
    folder = tmp_path_factory.mktemp("adopt")
    session = Session(folder, ["embedded"])
    [host] = session.hosts()

    def adopt(text: str, **options):
        script = folder / "script.py"
        script.write_text(textwrap.dedent(text).lstrip("\n"))
        run = lambda case: session.run(case, host, 60.0, False)[1]
        adopted = adoption.adopt(script, folder / "name.py", run, **options)
        return adopted.text, {name: one.values().tolist() for name, one in adopted.outputs.items()}

    yield adopt
    session.close()
