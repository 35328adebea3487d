"""What a release consists of: distributions, the workflow that publishes them, the citation."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import venv

import pytest
import yaml

from dpfit.models.report import citation

ROOT = pathlib.Path(__file__).parents[1]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def validated(schema, path):
    """Check a file against a schema that check-jsonschema brings along."""
    program = pathlib.Path(sys.executable).with_name("check-jsonschema")
    command = [program, "--builtin-schema", f"vendor.{schema}", path]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def workflow():
    # YAML 1.1 reads the key `on` as a truth value.
    return yaml.safe_load(WORKFLOW.read_text("utf-8"))


def test_the_workflow_has_the_form_of_one(tmp_path):
    done = validated("github-workflows", WORKFLOW)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "release.yml"
    wrong.write_text(WORKFLOW.read_text("utf-8").replace("runs-on:", "run-on:"), "utf-8")
    assert validated("github-workflows", wrong).returncode == 1


def test_the_workflow_builds_for_all_systems(workflow):
    wheels = workflow["jobs"]["wheel"]["strategy"]["matrix"]["include"]
    assert {wheel["name"] for wheel in wheels} == {
        "linux-x86_64",
        "linux-aarch64",
        "musl-x86_64",
        "musl-aarch64",
        "macos-x86_64",
        "macos-aarch64",
        "windows-x64",
    }
    linux = {w["manylinux"] for w in wheels if w["name"].startswith("linux")}
    assert {f"manylinux{version}" for version in linux} == {tool("build_distributions").MANYLINUX}


def test_only_what_was_checked_is_published(workflow):
    jobs = workflow["jobs"]
    assert jobs["publish"]["needs"] == ["check"]
    assert set(jobs["check"]["needs"]) == set(jobs) - {"check", "publish"}
    assert "refs/tags/v" in jobs["publish"]["if"]
    # Nothing else can sign or publish, and there is no password.
    assert workflow["permissions"] == {"contents": "read"}
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["permissions"]["id-token"] == "write"
    assert "secrets." not in WORKFLOW.read_text("utf-8")
    used = [step.get("uses", "").split("@")[0] for step in jobs["publish"]["steps"]]
    assert used == ["actions/download-artifact", "actions/attest", "pypa/gh-action-pypi-publish"]


def test_commands_and_files_of_the_workflow_exist(workflow):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    found = 0
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "run" in step:
                found += 1
                # Expressions are replaced before the shell sees them.
                script = re.sub(r"\$\{\{.*?\}\}", "x", step["run"])
                done = subprocess.run(["bash", "-n", "-c", script], capture_output=True)
                assert done.returncode == 0, done.stderr
                for path in re.findall(r"tools/\w+\.py", script):
                    assert (ROOT / path).is_file()
    assert found >= 5


def test_the_citation_is_valid_and_the_same_everywhere(tmp_path):
    path = ROOT / "CITATION.cff"
    done = validated("citation-file-format", path)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "CITATION.cff"
    wrong.write_text(path.read_text("utf-8").replace("authors:", "writers:"), "utf-8")
    assert validated("citation-file-format", wrong).returncode == 1
    cited = yaml.safe_load(path.read_text("utf-8"))
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    assert cited["version"] == cargo["workspace"]["package"]["version"]
    assert f"\n## {cited['version']}" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert cited["license"] == PROJECT["project"]["license"]
    assert cited["repository-code"] == PROJECT["project"]["urls"]["Repository"]
    assert cited["title"] in citation.SOFTWARE
    (paper,) = cited["references"]
    assert paper["title"] in citation.PAPER
    for author in paper["authors"]:
        assert author["family-names"] in citation.PAPER
    assert paper["url"].rpartition("/")[2] in citation.PAPER


def test_distributions_with_faults_are_refused(tmp_path):
    build = tool("build_distributions")
    assert build.problems(tmp_path) != []
    (tmp_path / "dpfit-0.0.0-cp311-cp311-linux_x86_64.whl").write_bytes(b"")
    (tmp_path / "dpfit-0.0.0.tar.gz").write_bytes(b"")
    found = build._of_names(*sorted(tmp_path.iterdir()))
    assert len(found) == 2


@pytest.mark.slow
def test_the_wheel_for_pypi_works_in_a_clean_environment(tmp_path):
    """As `make wheel` builds it: on Linux linked against an old glibc."""
    for needed in ("auditwheel", "twine", "ziglang"):
        pytest.importorskip(needed, reason="pip install --group release")
    command = [
        sys.executable,
        ROOT / "tools" / "build_distributions.py",
        "--out",
        tmp_path / "dist",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PyPI would take" in done.stdout
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}

    def run(*words):
        done = subprocess.run(
            [str(word) for word in words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[cli,plot]")
    run(python, "-W", "error", ROOT / "tools" / "smoke_test.py")
    rows = [f"{age},{10 * age}" for age in range(20, 80)] * 50
    (tmp_path / "data.csv").write_text("\n".join(["age,cost", *rows]))
    dpfit = python.with_name("dpfit")
    run(dpfit, "fit", "data.csv", "--target", "cost", "--epsilon", "1", "-o", "model.json")
    run(dpfit, "show", "model.json", "--html", "model.html", "--plot", "model.png")
    assert (tmp_path / "model.html").read_text("utf-8").startswith("<!DOCTYPE html>")
