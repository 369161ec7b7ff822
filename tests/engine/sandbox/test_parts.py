"""The parts of the sandbox that decide, without a sandbox: what is asked, kept, refused, counted."""

import errno
import os
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.engine.sandbox import Command, Limits, Output, SandboxFailed, SandboxMissing, find
from podium.engine.sandbox import finding as finding_module
from podium.engine.sandbox.bare import Bare
from podium.engine.sandbox.bubblewrap import limited, reached
from podium.engine.sandbox.child import Kept
from podium.engine.sandbox.filter import REFUSED, seccomp
from podium.engine.sandbox.folder import size
from podium.engine.sandbox.group import Groups

# --- what is asked -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "", "a\0b"])
def test_files_lie_in_the_work_folder(name: str) -> None:
    with pytest.raises(ValueError, match=r"no path inside|zero byte"):
        Command(("true",), files={name: b""})


@pytest.mark.parametrize("target", ["relative", "/box", "/box/x", "/a/../box"])
def test_nothing_is_shown_in_the_work_folder(target: str) -> None:
    with pytest.raises(ValueError, match="shown"):
        Command(("true",), shown={target: Path("/usr")})


def test_a_kept_folder_takes_no_files_which_its_links_could_lead_out() -> None:
    with pytest.raises(ValueError, match="takes no files"):
        Command(("true",), files={"a": b""}, folder=Path("/tmp"))


def test_an_address_space_is_limited_only_where_memory_is_not_counted_together() -> None:
    assert f"--as={512 << 20}" in limited(Limits(), together=False)
    assert not any(word.startswith("--as") for word in limited(Limits(), together=True))


def test_exit_codes_tell_of_limits() -> None:
    limits = Limits(cpu_s=2)
    ends = [reached(code, seconds, limits) for code, seconds in ((152, 1), (153, 1), (137, 3))]
    assert ends == ["cpu", "file", "cpu"]
    assert reached(137, 1, limits) == reached(0, 9, limits) == "exit"


# --- what is kept --------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(1, 60))
def test_the_beginning_and_the_end_of_an_output_are_kept(chunks: list[bytes], room: int) -> None:
    kept = Kept(room)
    for chunk in chunks:
        kept.add(chunk)

    whole, output = b"".join(chunks), kept.output()
    head = output.data[: output.head]

    assert len(output.data) == min(room, len(whole))
    assert output.cut == len(whole) - len(output.data)
    assert whole.startswith(head)
    assert whole.endswith(output.data[output.head :])


def test_what_is_shown_of_an_output_is_harmless_and_says_what_is_cut() -> None:
    assert Output(b"\x1b[2Jred\x07\r\nline\xff\t.", 0, 0).text == "[2Jred\nline\ufffd\t."
    assert Output(b"ab", 1_234, 1).text == "a\n[1,234 bytes are left out here]\nb"


def test_the_size_of_a_folder_counts_entries_and_follows_no_links(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"x" * 10_000)
    (tmp_path / "link").symlink_to("/usr")

    assert 10_000 <= size(tmp_path, 1_000_000) < 100_000
    assert 4_000 < size(tmp_path, 4_000) < 30_000


# --- the system-call filter ----------------------------------------------------------------------


def verdict(program: bytes, machine: int, number: int, first: int = 0) -> int:
    """What the kernel would return: a small interpreter of the instructions that the program uses."""
    data = struct.pack("<IIQQ", number, machine, 0, first)
    code = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x06:
                return value
            case 0x15 | 0x35 | 0x45:
                holds = {0x15: accumulator == value, 0x35: accumulator >= value}
                at += yes if holds.get(operation, accumulator & value != 0) else no
            case _:
                raise AssertionError(f"no such instruction: {operation:#x}")


ALLOWED, REFUSAL = 0x7FFF0000, 0x00050000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_refuses_what_it_names_and_nothing_else(machine: str) -> None:
    program, kind = seccomp(machine), MACHINES[machine]
    clone, socket = (56, 41) if machine == "x86_64" else (220, 198)
    refused = set(REFUSED[machine].values())

    for number in range(500):
        got = verdict(program, kind, number, first=2)
        if number in refused:
            assert got == REFUSAL | errno.EPERM, number
        elif number == 435:
            assert got == REFUSAL | errno.ENOSYS
        else:
            assert got == ALLOWED, number
    assert verdict(program, kind, clone, 0x10000000) == REFUSAL | errno.EPERM
    assert verdict(program, kind, clone, 0x01200011) == ALLOWED
    families = [
        verdict(program, kind, socket, one) == ALLOWED for one in (1, 2, 10, 16, 17, 38, 40)
    ]
    assert families == [True, True, True, True, False, False, False]
    assert verdict(program, 0x40000003, 1) == REFUSAL | errno.EPERM  # a 32-bit call


def test_the_filter_refuses_the_second_door_of_x86() -> None:
    assert verdict(seccomp("x86_64"), MACHINES["x86_64"], 0x40000001) == REFUSAL | errno.EPERM


# --- control groups ------------------------------------------------------------------------------


def test_groups_of_version_1_limit_memory_and_processes(tmp_path: Path) -> None:
    for name in ("memory/own", "pids/own"):
        (tmp_path / name).mkdir(parents=True)
    own = tmp_path / "cgroup"
    own.write_text("5:pids:/own\n4:memory:/own\n1:name=systemd:/\n0::/\n")

    groups = Groups.here(tmp_path, own)
    assert groups is not None
    group = groups.make(Limits())

    assert [str(one.relative_to(tmp_path).parent) for one in group.folders] == [
        "memory/own",
        "pids/own",
    ]
    (group.folders[0] / "memory.oom_control").write_text("under_oom 0\noom_kill 2\n")
    assert group.ran_out()


def test_groups_of_version_2_need_leave_to_use_the_controllers(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/user/own\n")
    assert Groups.here(tmp_path, own) is None

    folder = tmp_path / "user/own"
    folder.mkdir(parents=True)
    (folder / "cgroup.subtree_control").write_text("cpu memory pids\n")
    groups = Groups.here(tmp_path, own)

    assert groups is not None
    assert groups.make(Limits()).folders[0].parent == folder


def test_groups_that_a_dead_process_left_are_removed(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    own.write_text("0::/\n")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids")
    for name in ("podium-999999999-3", f"podium-{os.getpid()}-1"):
        (tmp_path / name).mkdir()

    Groups.here(tmp_path, own)

    assert [one.name for one in tmp_path.glob("podium-*")] == [f"podium-{os.getpid()}-1"]


# --- without a sandbox ---------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_refusal_says_what_is_missing_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def which(name: str) -> str | None:
        return None if name == "bwrap" else name

    monkeypatch.setattr("shutil.which", which)
    monkeypatch.setattr(finding_module, "_packaged", lambda: None)

    with pytest.raises(SandboxMissing) as missing:
        await find()

    told = str(missing.value)
    assert "bwrap: not installed" in told
    assert "apt install bubblewrap" in told
    assert "--unsafe-sandbox" in told


@pytest.mark.anyio
async def test_without_isolation_limits_and_the_work_folder_still_hold() -> None:
    bare = await find(unsafe=True)
    assert (bare.name, bare.isolates) == ("none", False)

    ran = await bare.run(
        Command(
            ("sh", "-c", "cat; ./a/run; env | grep -c KEY; exit 3"),
            {"a/run": b"#!/bin/sh\necho ran\n"},
            b"in\n",
        )
    )
    assert (ran.code, ran.out.text) == (3, "in\nran\n0\n")

    began = time.monotonic()
    slow = await bare.run(Command(("sh", "-c", "sleep 300 & wait"), limits=Limits(wall_s=0.05)))
    assert slow.ended == "wall"
    assert time.monotonic() - began < 2


@pytest.mark.anyio
async def test_what_cannot_be_done_without_isolation_is_refused() -> None:
    with pytest.raises(SandboxFailed):
        await Bare().run(Command(("true",), shown={"/seen": Path("/usr")}))
