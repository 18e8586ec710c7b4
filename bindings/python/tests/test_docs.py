"""The code blocks of the documents, run as a reader would."""
import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[3]
GGUF = os.environ.get("RUVLLM_TEST_MODEL") or ROOT / "models/ruvltra-nano-q8_0.gguf"


@pytest.mark.parametrize("page", ["docs/embedding.md", "bindings/python/README.md"])
def test_the_code_in(page, tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert len(blocks) == 1
    (tmp_path / "model.gguf").symlink_to(GGUF)
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("numpy")
    exec(compile(blocks[0], page, "exec"), {})
    assert len(capsys.readouterr().out) > 20
