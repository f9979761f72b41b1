"""The packages that code imports."""

import numpy as np

from harness.capture.author.packages import packages_of


def test_packages_with_their_versions():
    code = "import numpy.linalg\nimport os\nfrom . import near\ndef f():\n    from numpy import sqrt\n"
    assert packages_of(code) == {"numpy": np.__version__.partition("+")[0]}
