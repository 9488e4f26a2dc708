"""What the README shows works as it is written there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from service.demo import road
from service.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)


def test_the_library_example_runs_and_prints_rules() -> None:
    (program,) = (block for block in blocks("python") if "learners" in block)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("IF ") == 2
    assert "THEN y = yes" in done.stdout


def test_the_example_of_networks_in_the_guide_runs() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text()
    (program,) = (block for block in re.findall(r"^```python\n(.*?)^```", guide, re.S | re.M) if "neural" in block)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "colour = red" in done.stdout


def test_the_trees_of_the_examples_are_those_of_the_demonstration() -> None:
    """Its test sees to it that they can be read."""
    shown = re.findall(r'(?:"parameters": |parameters = )({[^}]*})', README)
    learning = road._learning({"id": "ds"})
    assert [json.loads(parameters) for parameters in shown] == [learning["parameters"]] * 2
    assert f'"learner": "{learning["learner"]}"' in README


def test_make_targets_that_are_shown_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    shown = set(re.findall(r"\bmake ([a-z-]+)\b(?= |`|$)", "\n".join(blocks("")), re.M))
    assert shown >= {"demo", "test", "serve"}
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in shown)


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_variables_that_are_shown_are_settings() -> None:
    known = {f"RULEWOOD_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"RULEWOOD_[A-Z_]*[A-Z]", README)) <= known
