"""The licence at the top of a file."""

from harness.capture.author import licence

TEXT = """\
# Copyright (c) 2025 - 2026 SOME CORPORATION & AFFILIATES. All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
#
# Redistribution and use in source and binary forms, with or without
# modification, are permitted provided that the following conditions are met:
#
# 1. Redistributions of source code must retain the above copyright notice, this
# list of conditions and the following disclaimer.
# THIS SOFTWARE IS PROVIDED"""


def test_the_words_stay_and_short_lines_too():
    text = licence.filled(TEXT)
    assert text.replace("#", "").split() == TEXT.replace("#", "").split()
    lines = text.splitlines()
    assert any("without modification, are" in line for line in lines) and lines[-1] == "# THIS SOFTWARE IS PROVIDED"
    assert lines[:3] == TEXT.splitlines()[:3] and max(map(len, lines)) <= licence.WIDTH
