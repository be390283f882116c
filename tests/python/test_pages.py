"""The Python blocks of the pages for users run, top to bottom, one page in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(ROOT.glob("docs/coming_from/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page.stem}
    for block in blocks:
        # As many lines in front as the page has, so that an error names the page's own line.
        line = page.read_text()[: page.read_text().index(block)].count("\n")
        exec(compile("\n" * line + block, str(page), "exec"), names)


def test_there_is_a_page_for_each_neighbour():
    assert {page.stem for page in PAGES} == {"flexattention", "sdpa", "flashattention", "flashinfer"}
