"""`qd.types.annotations`."""

from dsl.quadrants.annotations import Template
from dsl.quadrants.refused_names import refuser

template = Template
__getattr__ = refuser("types.annotations", globals())
