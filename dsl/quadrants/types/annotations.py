"""`qd.types.annotations`."""

from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import Template

template = Template
__getattr__ = refuser("types.annotations", globals())
