"""The Dockerfile's and compose file's own commands, run as a non-root user in an empty folder."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from service.settings import Settings
from service.temporary import remove_abandoned, temporary_folder
from tests.conftest import KERNELS
from tests.packaging.containerfile import Stage, stages

ROOT = Path(__file__).resolve().parents[2]
NOBODY = "65534"
KEY = "rk_" + "container-test-" * 3


def as_non_root(command: list[str]) -> list[str]:
    """Drop to an unprivileged user; it may read all (the interpreter can lie in a home), write nothing."""
    if os.geteuid() != 0:
        return command
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
    return [*drop, "--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search", *command]


class Box:
    """An empty folder in which a Dockerfile's paths are laid out."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(("PIP_", "SSL_", "REQUESTS_CA", "CURL_CA")) or name == "LANG"
        }
        self.environment |= {"HOME": self.path("/home"), "PATH": self._interpreter() + ":/usr/bin:/bin"}
        self.environment["PIP_COMPILE"] = "0"  # most modules of the packages are never imported here
        for name in ("/home", "/build", "/opt", "/data"):
            Path(self.path(name)).mkdir(parents=True, exist_ok=True)
        self.hand_over()

    def path(self, inside: str) -> str:
        return str(self.folder / inside.lstrip("/"))

    def inside(self, text: str) -> str:
        return re.sub(r"(?<![\w.])/(opt/rulewood|build|data|home)\b", lambda found: self.path(found.group()), text)

    def _interpreter(self) -> str:
        folder = self.folder / "bin"
        folder.mkdir()
        (folder / "python").symlink_to(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
        return str(folder)

    def hand_over(self) -> None:
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(self.folder)], check=True)

    def run(self, command: str, environment: dict[str, str]) -> str:
        done = subprocess.run(
            as_non_root(["sh", "-c", self.inside(command)]),
            cwd=self.path("/build"),
            env=self.environment | {name: self.inside(value) for name, value in environment.items()},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def compile_kernels(self, command: str, environment: dict[str, str]) -> None:
        """Compile into the folder that all tests share, then hand this box what the command made or found there."""
        told = self.run(command, environment | {"NUMBA_CACHE_DIR": str(KERNELS), "NUMBA_DEBUG_CACHE": "1"})
        kernels = Path(self.inside(environment["NUMBA_CACHE_DIR"]))
        kernels.mkdir()
        # Threads print side by side, and a line's text and its end are two writes: two texts can share a line.
        for path in set(re.findall(r"\[cache\] (?:data|index) (?:saved to|loaded from) '([^']*)'", told)):
            shutil.copy(path, kernels)


def build(box: Box, stage: Stage) -> None:
    environment = stage.environment()
    for instruction, argument in stage.instructions:
        if instruction == "COPY":
            *sources, target = shlex.split(argument)
            copy(sources, Path(box.path("/build")) / target)
            box.hand_over()
        elif instruction == "RUN" and argument.endswith("rulewood compile"):
            box.compile_kernels(argument, environment)
            box.hand_over()
        elif instruction == "RUN":
            box.run(argument, environment)


def copy(sources: list[str], target: Path) -> None:
    for source in sources:
        origin = ROOT / source
        if origin.is_dir():
            shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(origin, target if target.is_dir() else target.parent)


@pytest.fixture(scope="module")
def built() -> Iterator[Box]:
    # Not pytest's own temporary folder: that is closed to other users.
    place = Path(tempfile.gettempdir())
    remove_abandoned(place, "rulewood-container")
    with temporary_folder(place, "rulewood-container") as folder:
        folder.chmod(0o755)
        box = Box(folder)
        build(box, stages(ROOT / "Dockerfile")[0])
        yield box


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def runtime(box: Box) -> dict[str, str]:
    last = stages(ROOT / "Dockerfile")[-1]
    declared = last.environment()
    return box.environment | {
        **{name: box.inside(value) for name, value in declared.items() if name != "PATH"},
        "PATH": box.inside(declared["PATH"].replace("$PATH", box.environment["PATH"])),
        "RULEWOOD_HOST": "127.0.0.1",  # loopback while testing
        "RULEWOOD_PORT": str(free_port()),
        "RULEWOOD_ADMIN_KEY": KEY,
    }


def test_the_image_builds_serves_and_is_healthy_as_a_non_root_user(built: Box) -> None:
    last = stages(ROOT / "Dockerfile")[-1]
    environment = runtime(built)
    kernels = Path(environment["NUMBA_CACHE_DIR"])
    compiled = {path.name for path in kernels.rglob("*.nbc")}
    assert compiled, "no kernel was compiled at build"
    command = [*last.command("ENTRYPOINT"), *last.command("CMD")]
    server = subprocess.Popen(
        as_non_root(command), cwd=built.path("/data"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        wait_until_healthy(built, last, environment, server)
        base = f"http://127.0.0.1:{environment['RULEWOOD_PORT']}"
        assert httpx.get(f"{base}/api/v1/models", timeout=60).status_code == 401
        answer = httpx.get(f"{base}/api/v1/models", headers={"Authorization": f"Bearer {KEY}"}, timeout=60)
        assert answer.status_code == 200
        train_one(base)
    finally:
        server.terminate()
        output = server.communicate(timeout=60)[0]
    assert b"Traceback" not in output, output[-4000:].decode()
    assert Path(built.path("/data/store.sqlite3")).exists()
    assert {path.name for path in kernels.rglob("*.nbc")} == compiled, "training compiled what the build had not"


def wait_until_healthy(box: Box, stage: Stage, environment: dict[str, str], server: subprocess.Popen[bytes]) -> None:
    """Ask the service itself until it is ready: each health check of the image is the start of a process."""
    ready = f"http://127.0.0.1:{environment['RULEWOOD_PORT']}/health/ready"
    for _ in range(1200):
        assert server.poll() is None, server.stdout.read().decode() if server.stdout else ""
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(ready).status_code == 200:
                break
        time.sleep(0.1)
    check = subprocess.run(
        as_non_root(stage.command("HEALTHCHECK")), cwd=box.path("/data"), env=environment, capture_output=True
    )
    assert check.returncode == 0, f"not healthy: {check.stdout!r} {check.stderr!r}"


def train_one(base: str) -> None:
    from service.client import Rulewood

    with Rulewood(base, key=KEY) as client:
        rows = "\n".join(f"{x},{'high' if x > 6 else 'low'}" for x in range(12))
        dataset = client.upload(f"x,y\n{rows}\n".encode(), name="tiny", format="csv")
        job = client.train(dataset["id"], target="y", learner="decision-tree-classifier", model="tiny")
        assert client.wait(job)["state"] == "succeeded"
        assert client.predict("tiny", [{"x": 11}])["predictions"][0]["label"] == "high"


def compose() -> dict[str, dict]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_compose_commands_are_commands_of_rulewood() -> None:
    executable = Path(sys.executable).parent / "rulewood"
    for name, service in compose()["services"].items():
        if "command" in service:
            shown = subprocess.run([executable, *service["command"], "--help"], capture_output=True, text=True)
            assert shown.returncode == 0, f"{name}: {shown.stderr}"


def test_compose_environment_are_settings() -> None:
    fields = {f"RULEWOOD_{name.upper()}" for name in Settings.model_fields}
    for service in compose()["services"].values():
        given = {name for name in service["environment"] if name.startswith("RULEWOOD_")}
        assert given <= fields


def test_compose_starts_in_the_order_of_health() -> None:
    services = compose()["services"]
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert "healthcheck" in services["postgres"]


def test_compose_volumes_are_declared_and_ports_stay_on_loopback() -> None:
    document = compose()
    used = {volume.split(":")[0] for service in document["services"].values() for volume in service.get("volumes", ())}
    assert used == set(document["volumes"])
    published = [port for service in document["services"].values() for port in service.get("ports", ())]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_the_image_runs_as_a_user_without_privileges() -> None:
    last = stages(ROOT / "Dockerfile")[-1]
    assert last.all("USER") == ["rulewood"]
    assert [name for name, _ in last.instructions].index("USER") < [n for n, _ in last.instructions].index("CMD")
