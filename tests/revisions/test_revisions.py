"""A file at a revision is that of the revision, whatever stands in the working tree; everything else is an error with its reason."""

from __future__ import annotations

import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

import pytest

from tests.revisions.scratch import Scratch
from weighbridge.errors import BadModel, BadSpec
from weighbridge.revisions import at_revision, has_revision


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scratch:
    """``net.toml`` in two versions, the second of them on ``main``, and the first tagged; the current folder is its top."""
    made = Scratch(tmp_path / "repository")
    made.commit({"net.toml": "first", "parts/deep.toml": "deep"})
    made.git("tag", "v1")
    made.commit({"net.toml": "second"})
    (made.folder / "net.toml").write_text("now")
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture(autouse=True)
def in_a_temporary_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def content(written: str) -> str:
    with at_revision(written) as found:
        return Path(found.source).read_text()


def refused(written: str) -> str:
    with pytest.raises(BadSpec) as caught, at_revision(written):
        pass
    assert str(caught.value).startswith(f"{written}: ")
    return str(caught.value)


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ("main", "second"),
        ("HEAD", "second"),
        ("@", "second"),
        ("HEAD~1", "first"),
        ("@~", "first"),
        ("v1", "first"),
        ("tags/v1", "first"),
        (":/work", "second"),
        ("main@{0}", "second"),
        ("@{0}", "second"),
        ("{0}", "second"),
        ("HEAD^{/work}", "second"),
    ],
)
def test_every_way_to_write_a_revision(repository: Scratch, revision: str, expected: str) -> None:
    assert content(f"net.toml@{revision}") == expected


def test_a_commit_by_its_name_whole_and_short(repository: Scratch) -> None:
    first = repository.git("rev-parse", "v1")
    assert content(f"net.toml@{first}") == content(f"net.toml@{first[:8]}") == "first"


def test_an_annotated_tag_is_its_commit(repository: Scratch) -> None:
    repository.git("tag", "--annotate", "--message", "m", "release", "v1")
    assert content("net.toml@release") == "first"


def test_the_upstream(repository: Scratch) -> None:
    repository.git("branch", "old", "v1")
    assert "there is no revision '@{upstream}'" in refused("net.toml@@{upstream}")
    repository.git("branch", "--set-upstream-to", "old")
    assert content("net.toml@@{upstream}") == content("net.toml@{upstream}") == content("net.toml@main@{u}") == "first"


def test_paths_from_wherever_one_is(repository: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository.folder / "parts")
    assert content("deep.toml@v1") == content("../parts/./deep.toml@v1") == "deep"
    assert content("../net.toml@v1") == content(f"{repository.folder}/net.toml@v1") == "first"
    monkeypatch.chdir(repository.folder.parent)
    assert content("repository/net.toml@v1") == "first"
    assert content("repository/parts/deep.toml@main") == "deep"


def test_signs_in_the_path_and_in_the_revision(repository: Scratch) -> None:
    repository.commit({"a@b.toml": "two signs", "c@d/e@f.toml": "more", "g": "short"})
    repository.git("branch", "feature@2")
    repository.commit({"a@b.toml": "later"})
    assert content("a@b.toml@feature@2") == content("a@b.toml@feature@2@{0}") == "two signs"
    assert content("c@d/e@f.toml@main") == "more"
    assert content("g@feature@2") == "short"


def test_a_file_that_has_all_of_it_for_its_name_is_that_file(repository: Scratch) -> None:
    assert has_revision("net.toml@v1")
    Path("net.toml@v1").write_text("a file of this name")
    assert not has_revision("net.toml@v1")
    assert not has_revision("net.toml@v1:width=2")
    Path("odd@2.py").write_text("")
    assert not has_revision("odd@2.py:Net")
    assert has_revision("odd@2.py@main:Net")


@pytest.mark.parametrize("source", ["alexnet", "model.onnx", "timm:hf-hub:a@b", "torchvision:x@y", ""])
def test_what_has_no_revision(repository: Scratch, source: str) -> None:
    assert not has_revision(source)


def test_what_has_been_deleted_and_its_folder_with_it(repository: Scratch) -> None:
    repository.commit({"parts/deep.toml": None})
    Path("parts").rmdir()
    assert not Path("parts").exists()
    assert content("parts/deep.toml@v1") == "deep"
    assert "there is no file 'parts/deep.toml' at the revision 'main'" in refused("parts/deep.toml@main")


def test_a_folder_now_that_was_a_file_then(repository: Scratch) -> None:
    repository.commit({"model": "a file"})
    repository.git("tag", "file")
    repository.commit({"model": None})
    repository.commit({"model/net.toml": "in a folder"})
    assert content("model@file") == "a file"
    assert "'model' is a folder at the revision 'main'" in refused("model@main")


def test_choices_stand_behind_the_path(repository: Scratch) -> None:
    with at_revision("net.toml:width=0.5@v1") as found:
        path, colon, choices = found.source.rpartition(":")
        assert (Path(path).read_text(), colon, choices) == ("first", ":", "width=0.5")
    assert "the revision comes last: net.toml:width=0.5@v1" in refused("net.toml@v1:width=0.5")


def test_links_are_followed_inside_the_repository_alone(repository: Scratch) -> None:
    (repository.folder / "parts" / "link.toml").symlink_to("../net.toml")
    (repository.folder / "out.toml").symlink_to("/etc/hostname")
    (repository.folder / "up.toml").symlink_to("../../secret")
    (repository.folder / "ring.toml").symlink_to("ring.toml")
    (repository.folder / "net.toml").write_text("third")
    repository.commit({})
    assert content("parts/link.toml@main") == "third"
    for name in ("out.toml", "up.toml", "ring.toml"):
        assert f"'{name}' is a link to no file of the repository at the revision 'main'" in refused(f"{name}@main")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("net.toml@mian", "there is no revision 'mian' in this repository; did you mean main?"),
        ("net.toml@" + "0" * 40, "there is no revision"),
        ("net.toml@v1..main", "there is no revision 'v1..main'"),
        ("net.toml@^main", "there is no revision '^main'"),
        ("net.toml@main:net.toml", "there is no revision"),
        ("net.toml@main^{tree}", "there is no revision"),
        ("net.toml@--help", "there is no revision '--help'"),
        ("net.toml@-1", "there is no revision '-1'"),
        ("net.toml@--output=x", "there is no revision"),
        ("net.toml@--branches", "there is no revision '--branches'"),  # the only one, as an option of git
        ("net.toml@a\nb", "there is no revision"),
        ("net.toml@", "there is no revision behind the @; write PATH@REVISION"),
        ("@main", "there is no path before the @"),
        ("parts@main", "'parts' is a folder at the revision 'main'"),
        ("./@main", "there is no file './' at the revision 'main'"),
        ("nat.toml@main", "there is no file 'nat.toml' at the revision 'main'; net.toml of the repository is like it"),
        ("alexnet@main", "'alexnet' is no file with revisions; leave out what is behind the @"),
        ("../outside.toml@main", "there is no git repository here"),
        ("net.toml@main\0", "git cannot be asked"),
    ],
)
def test_what_is_not_there(repository: Scratch, written: str, said: str) -> None:
    with pytest.raises(BadSpec) as caught, at_revision(written):
        pass
    assert said in str(caught.value)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    assert sorted(one.name for one in Path().iterdir()) == [".git", "net.toml", "parts"]


def test_without_a_repository_and_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.toml").write_text("x")
    assert "there is no git repository here; a revision is one of its commits" in refused("net.toml@main")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "a revision is read by git, which is not installed" in refused("net.toml@main")


def test_a_hook_names_another_repository(repository: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Scratch(tmp_path / "other")
    other.commit({"net.toml": "of another repository"})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git" / "index"))
    assert content("net.toml@main") == "second"


def test_nothing_stays_whatever_happens(repository: Scratch, in_a_temporary_folder_of_its_own: Path) -> None:
    with at_revision("net.toml@v1") as found:
        assert Path(found.source).is_relative_to(in_a_temporary_folder_of_its_own)
    with pytest.raises(KeyboardInterrupt), at_revision("net.toml@v1"):
        raise KeyboardInterrupt
    assert list(in_a_temporary_folder_of_its_own.iterdir()) == []
    assert Path("net.toml").read_text() == "now"
    assert repository.git("status", "--short") == "M net.toml"


def test_errors_have_the_names_that_the_user_knows(repository: Scratch) -> None:
    with pytest.raises(BadModel) as caught, at_revision("parts/deep.toml@v1") as found, found.explained():
        raise BadModel(f"{found.source} is odd", where=f"{found.source}: line 3", details=[f"{found.root}/net.py"])
    assert str(caught.value) == "parts/deep.toml@v1: line 3: parts/deep.toml@v1 is odd: net.py"
    with pytest.raises(BadModel) as caught, at_revision("net.toml@v1") as found, found.explained():
        raise BadModel("the file is empty", where="net.toml")
    assert str(caught.value) == "net.toml@v1: net.toml: the file is empty"


def pointer(stored: bytes) -> tuple[str, bytes]:
    name = sha256(stored).hexdigest()
    return name, f"version https://git-lfs.github.com/spec/v1\noid sha256:{name}\nsize {len(stored)}\n".encode()


def test_pointers_of_git_lfs(repository: Scratch) -> None:
    name, text = pointer(b"the real file")
    repository.commit({"big.toml": text})
    found = refused("big.toml@main")
    assert "this is a Git LFS pointer, and what it points to is not here; run `git lfs fetch origin main`" in found
    kept = repository.folder / ".git" / "lfs" / "objects" / name[:2] / name[2:4]
    kept.mkdir(parents=True)
    (kept / name).write_bytes(b"the real file")
    assert content("big.toml@main") == "the real file"


def test_a_file_that_the_clone_does_not_have(repository: Scratch) -> None:
    blob = repository.git("rev-parse", "v1:net.toml")
    (repository.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    assert "this clone does not have the content of the file; fetch it" in refused("net.toml@v1")


def test_nothing_is_fetched(repository: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone without contents gets each from where it came as soon as git is asked for it, unless it is told not to."""
    repository.git("config", "uploadpack.allowFilter", "true")
    origin, clone = repository.folder.as_uri(), tmp_path / "clone"
    repository.git("clone", "--quiet", "--no-checkout", "--filter=blob:none", origin, str(clone))
    monkeypatch.chdir(clone)
    assert "this clone does not have the content of the file; fetch it" in refused("net.toml@HEAD")
    repository.git("-C", str(clone), "checkout", "--quiet")
    assert content("net.toml@HEAD") == "second"


def with_weights_beside(name: str) -> bytes:
    """An ONNX model that keeps a tensor in the file of this name."""
    onnx = pytest.importorskip("onnx")
    weight = onnx.helper.make_tensor("w", 1, [2], [1.0, 2.0])
    weight.ClearField("float_data")
    weight.external_data.add(key="location", value=name)
    weight.data_location = onnx.TensorProto.EXTERNAL
    made: bytes = onnx.helper.make_model(onnx.helper.make_graph([], "g", [], [], [weight])).SerializeToString()
    return made


def test_weights_that_git_lfs_keeps_elsewhere_are_not_there(repository: Scratch) -> None:
    """A pointer is not taken for the weights it points to."""
    name, text = pointer(b"the weights")
    repository.commit({"net.onnx": with_weights_beside("w.bin"), "w.bin": text})
    with at_revision("net.onnx@main") as found:
        assert not (found.root / "w.bin").exists()
    kept = repository.folder / ".git" / "lfs" / "objects" / name[:2] / name[2:4]
    kept.mkdir(parents=True)
    (kept / name).write_bytes(b"the weights")
    with at_revision("net.onnx@main") as found:
        assert (found.root / "w.bin").read_bytes() == b"the weights"


def test_weights_behind_a_link_are_those_it_leads_to(repository: Scratch) -> None:
    (repository.folder / "w.bin").symlink_to("blobs/w")
    repository.commit({"net.onnx": with_weights_beside("w.bin"), "blobs/w": b"the weights"})
    repository.commit({"blobs/w": b"others"})
    with at_revision("net.onnx@HEAD~1") as found:
        assert (found.root / "w.bin").read_bytes() == b"the weights"


def test_no_name_in_a_commit_leads_out_of_the_folder(repository: Scratch) -> None:
    """Git makes no such tree, but reads one that somebody made."""

    def tree(*entries: str) -> str:
        return repository.git("mktree", told="".join(f"{one}\n" for one in entries))

    blob = repository.git("rev-parse", "v1:net.toml")
    outside = tree(f"100644 blob {blob}\tevil.py")
    top = tree(f"040000 tree {outside}\t..", f"100644 blob {blob}\tnet.py", f"040000 tree {outside}\t.git")
    repository.git("tag", "odd", repository.git("commit-tree", top, "-m", "odd"))
    with at_revision("net.py@odd") as found:
        assert not (found.root.parent / "evil.py").exists()
        assert [one.name for one in found.root.iterdir()] == ["net.py"]


def test_the_likeliest_reading_says_what_is_wrong(repository: Scratch) -> None:
    repository.commit({"a@b.toml": "two signs"})
    assert "there is no revision 'mian' in this repository; did you mean main?" in refused("a@b.toml@mian")
    assert "there is no file 'c@b.toml' at the revision 'main'" in refused("c@b.toml@main")


def test_a_git_that_ends_too_early(repository: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says last is cut: a file of which a part is missing is no file."""
    real = shutil.which("git")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = cat-file ] && {{ {real} "$@" | head -c -3; exit; }}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert "git ended before the whole file was read" in refused("net.toml@v1")


def test_in_a_linked_working_tree(repository: Scratch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "main")
    monkeypatch.chdir(tmp_path / "linked")
    assert content("net.toml@v1") == "first"


def test_python_files_have_those_of_their_revision_beside_them(repository: Scratch) -> None:
    (repository.folder / "link.py").symlink_to("models/net.py")  # what git keeps of it is a path and no Python
    repository.commit({"models/net.py": "import layers", "models/layers.py": "WIDTH = 8", "data.csv": "1"})
    repository.git("tag", "narrow")
    repository.commit({"models/layers.py": "WIDTH = 16", "models/new.py": ""})
    with at_revision("models/net.py:Net:width=2@narrow") as found:
        assert found.source == f"{found.root}/models/net.py:Net:width=2"
        files = sorted(str(one.relative_to(found.root)) for one in found.root.rglob("*") if one.is_file())
        assert files == ["models/layers.py", "models/net.py"]
        assert (found.root / "models" / "layers.py").read_text() == "WIDTH = 8"
        assert found.root in found.import_folders()
