"""Programs that try to get out of the sandbox, to use up the machine, or to outlive their time.

None does harm where it succeeds: a clock is set to the time that it shows, a bomb has a limit of its own.
Never run them without a sandbox all the same.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from podium.engine.sandbox import Command, Limits, Ran, Sandbox
from podium.engine.sandbox.bubblewrap import ORPHAN_S
from podium.engine.sandbox.command import MIB
from podium.engine.sandbox.host import own_code

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]


DEFAULT = Limits()


async def python(sandbox: Sandbox, code: str, limits: Limits = DEFAULT) -> Ran:
    return await sandbox.run(Command(("python3", "-c", code), limits=limits))


async def shell(
    sandbox: Sandbox, line: str, limits: Limits = DEFAULT, folder: Path | None = None
) -> Ran:
    return await sandbox.run(Command(("sh", "-c", line), limits=limits, folder=folder))


def processes_with(mark: str) -> list[str]:
    """Processes of this machine whose command line holds mark."""
    found: list[str] = []
    for pid in Path("/proc").iterdir():
        if pid.name.isdigit():
            try:
                line = (pid / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if mark in line and int(pid.name) != os.getpid():
                found.append(line)
    return found


async def until(holds: Callable[[], bool]) -> None:
    """Other processes and the kernel tell nobody; somebody has to look."""
    while True:
        if holds():
            return
        await anyio.sleep(0.002)


# --- outliving the time --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "sleep {mark} & wait",
        "(setsid sleep {mark} & ) ; sleep {mark}",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' & ) & wait; sleep {mark}",
    ],
    ids=["child", "a double-forked child that holds stdout", "a session that ignores signals"],
)
async def test_nothing_is_left_of_a_command_that_took_too_long(sandbox: Sandbox, line: str) -> None:
    mark = f"300.{os.getpid()}{abs(hash(line)) % 10**6}"
    began = time.monotonic()

    ran = await shell(sandbox, line.format(mark=mark), Limits(wall_s=1))

    assert time.monotonic() - began <= 2
    assert ran.ended == "wall"
    assert processes_with(mark) == []


async def test_nothing_is_left_of_a_command_that_left_a_daemon(sandbox: Sandbox) -> None:
    mark = f"301.{os.getpid()}"
    began = time.monotonic()

    ran = await shell(sandbox, f"setsid sleep {mark} & echo done")

    assert time.monotonic() - began <= 2
    assert ran.out.text == "done\n"
    assert processes_with(mark) == []


async def test_nothing_is_left_after_cancellation(sandbox: Sandbox) -> None:
    mark = f"302.{os.getpid()}"

    with anyio.move_on_after(0.5):
        await shell(sandbox, f"setsid sleep {mark} & sleep {mark}")

    assert processes_with(mark) == []


async def test_a_cancellation_before_it_has_begun_leaves_nothing(sandbox: Sandbox) -> None:
    mark = f"303.{os.getpid()}"

    for delay in (0.0, 0.002, 0.004, 0.008, 0.016):
        with anyio.move_on_after(delay):
            await shell(sandbox, f"sleep {mark}")

    assert processes_with(mark) == []


# --- using the machine up ------------------------------------------------------------------------


async def test_a_fork_bomb_reaches_its_limit(sandbox: Sandbox) -> None:
    bomb = (
        "import os\nn=0\ntry:\n for n in range(500):\n"
        "  if os.fork()==0: os.read(os.pipe()[0],1)\nexcept OSError: print(n)"
    )

    ran = await python(sandbox, bomb, Limits(processes=40, wall_s=5))

    assert ran.out.text, ran
    assert int(ran.out.text) <= 40


async def test_a_recursive_fork_bomb_ends_with_its_time(sandbox: Sandbox) -> None:
    began = time.monotonic()

    bomb = "bomb() { [ $1 -gt 9 ] || bomb $(($1+1)) | bomb $(($1+1)) & sleep 5; }; bomb 0"

    await shell(sandbox, bomb, Limits(processes=40, wall_s=1))

    assert time.monotonic() - began <= 3


async def test_a_memory_bomb_reaches_its_limit(sandbox: Sandbox) -> None:
    ran = await python(
        sandbox,
        "kept=[]\nfor _ in range(60): kept.append(bytearray(10**7)); print(len(kept), flush=True)",
        Limits(memory_bytes=128 * MIB),
    )

    assert ran.code != 0
    assert len(ran.out.text.split()) <= 14
    assert ran.ended == "memory" or "MemoryError" in ran.err.text


async def test_a_full_disk_ends_at_its_limit(sandbox: Sandbox) -> None:
    fill = "for i in $(seq 100); do head -c 1000000 /dev/zero >{}/$i || exit 3; done"
    for folder in ("/box", "/tmp", "/dev/shm"):
        ran = await shell(sandbox, fill.format(folder), Limits(disk_bytes=20 * MIB))
        assert ran.code == 3, (folder, ran)
    for folder in ("/", "/dev", "/usr", "/proc"):
        ran = await shell(sandbox, f"head -c 10 /dev/zero >{folder}/x")
        assert ran.code != 0, (folder, ran)


async def test_a_kept_folder_is_watched(sandbox: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    fill = "for i in $(seq 100); do head -c 5000000 /dev/zero >$i; sleep 0.02; done"

    ran = await shell(sandbox, fill, Limits(disk_bytes=30 * MIB), folder=folder)

    assert ran.ended == "disk"


async def test_a_file_reaches_its_limit(sandbox: Sandbox) -> None:
    ran = await shell(sandbox, "exec head -c 9000000 /dev/zero >x", Limits(file_bytes=4 * MIB))

    assert (ran.code, ran.ended) == (None, "file")


async def test_a_loop_reaches_its_cpu_limit(sandbox: Sandbox) -> None:
    stubborn = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"

    ran = await python(sandbox, stubborn, Limits(cpu_s=1, wall_s=60))

    assert ran.ended == "cpu"


async def test_endless_output_is_ended_and_what_was_cut_is_said(sandbox: Sandbox) -> None:
    ran = await sandbox.run(Command(("yes",), limits=Limits(output_bytes=1000)))

    assert ran.ended == "output"
    assert len(ran.out.data) == 1000
    assert ran.out.cut > 0
    assert f"[{ran.out.cut:,} bytes are left out here]" in ran.out.text


async def test_input_that_is_not_read_holds_nobody_up(sandbox: Sandbox) -> None:
    ran = await sandbox.run(Command(("true",), stdin=bytes(10 * MIB)))

    assert ran.fine


# --- seeing and reaching what is not its own -----------------------------------------------------


async def test_files_of_the_machine_cannot_be_seen(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")

    for path in (str(secret), "/etc/shadow", "/root", "/home", "/var", "/sys", str(own_code())):
        ran = await shell(sandbox, f"ls -d {path} || ls -d /proc/1/root{path}")
        assert ran.code != 0, path


async def test_links_out_of_the_folder_lead_nowhere(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    folder = tmp_path / "work"
    folder.mkdir()
    line = f"ln -s {tmp_path}/secret a; ln -s ../../secret b; ln -s /proc/self/root/etc c; cat a b c/shadow"

    ran = await shell(sandbox, line, folder=folder)

    assert ran.code != 0
    assert ran.out.text == ""


async def test_nothing_is_written_outside_of_its_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    folder, beside = tmp_path / "work", tmp_path / "beside"
    folder.mkdir()
    beside.write_text("as it was")
    line = (
        f"echo mine >ours; echo forged >../beside; echo forged >{beside}; mkdir -p {tmp_path}/new"
    )

    await shell(sandbox, line, folder=folder)

    assert (folder / "ours").read_text() == "mine\n"
    assert beside.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["beside", "work"]


async def test_keys_of_the_environment_are_not_handed_on(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_SECRET_KEY", "sk-secret")

    ran = await shell(sandbox, "env; cat /proc/*/environ")

    assert "sk-secret" not in ran.out.text
    assert sorted(line.split("=")[0] for line in ran.out.text.splitlines()[:6]) == [
        "HOME", "LANG", "PATH", "PWD", "TMPDIR", "TZ",
    ]  # fmt: skip


async def test_there_is_no_network(sandbox: Sandbox) -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        code = (
            "import socket\n"
            "def fails(*address, family=socket.AF_INET, kind=socket.SOCK_STREAM):\n"
            "  try: socket.socket(family, kind).connect(*address)\n"
            "  except OSError as error: return True\n"
            f"print(fails(('127.0.0.1', {port})), fails(('10.0.0.1', 9)),"
            " fails(('192.0.2.1', 9), kind=socket.SOCK_DGRAM), fails((2, 1024), family=socket.AF_VSOCK))"
        )
        ran = await python(sandbox, code)

    assert ran.out.text == "True True True True\n", ran


async def test_other_processes_can_neither_be_seen_nor_signalled(sandbox: Sandbox) -> None:
    code = (
        "import os\n"
        "print(sum(name.isdigit() for name in os.listdir('/proc')))\n"
        f"for pid in ({os.getpid()}, {os.getppid()}):\n"
        "  try: os.kill(pid, 9); print('killed')\n"
        "  except ProcessLookupError: print('nobody')\n"
        "print(flush=True); os.kill(-1, 9); os.killpg(0, 9)"
    )
    ran = await python(sandbox, code)

    count, *tried = ran.out.text.split()
    assert int(count) <= 4
    assert tried == ["nobody", "nobody"]


async def test_the_first_process_cannot_be_signalled(sandbox: Sandbox) -> None:
    ran = await shell(sandbox, "kill -9 1; kill -TERM 1; kill -STOP 1; echo alive")

    assert ran.out.text == "alive\n"
    assert ran.fine


async def test_a_command_that_stops_itself_ends_with_its_time(sandbox: Sandbox) -> None:
    ran = await shell(sandbox, "kill -STOP $$", Limits(wall_s=0.5))

    assert ran.ended == "wall"


async def test_the_exit_code_cannot_be_written_by_what_ran(sandbox: Sandbox) -> None:
    code = (
        "import os\n"
        "for fd in range(3, 1024):\n"
        "  try: os.write(fd, b'{\"exit-code\": 0}\\n')\n"
        "  except OSError: pass\n"
        "os._exit(7)"
    )
    ran = await python(sandbox, code)

    assert ran.code == 7


async def test_system_calls_that_widen_the_surface_are_refused(sandbox: Sandbox) -> None:
    code = (
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "x86 = platform.machine() == 'x86_64'\n"
        "calls = {'unshare': (272, 97), 'bpf': (321, 280), 'keyctl': (250, 219), 'io_uring': (425, 425),\n"
        "  'userfaultfd': (323, 282), 'memfd': (319, 279), 'shmget': (29, 194), 'ptrace': (101, 117)}\n"
        "for name, numbers in calls.items():\n"
        "  ctypes.set_errno(0)\n"
        "  got = libc.syscall(numbers[0 if x86 else 1], 0x10000000, 0, 0, 0, 0)\n"
        "  print(name, got, ctypes.get_errno())"
    )
    ran = await python(sandbox, code)

    assert [line.split()[1:] for line in ran.out.text.splitlines()] == [["-1", "1"]] * 8, ran


async def test_privileges_cannot_be_had(sandbox: Sandbox) -> None:
    ran = await shell(
        sandbox, "id -u; unshare -r id -u; mount --bind /usr /usr; chroot / id; su -c id"
    )

    assert ran.out.text.strip() not in ("", "0")
    assert ran.out.text.count("\n") == 1


async def test_times_and_words_are_the_same_everywhere(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")

    ran = await python(
        sandbox,
        "import time, locale, sys; print(time.tzname, locale.getpreferredencoding(), sys.getfilesystemencoding())",
    )

    assert ran.out.text == "('UTC', 'UTC') UTF-8 utf-8\n"
    clock = "import time; time.clock_settime(time.CLOCK_REALTIME, time.time())"
    assert "PermissionError" in (await python(sandbox, clock)).err.text


# --- what it must be able to do ------------------------------------------------------------------


async def test_files_go_in_and_a_folder_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    await sandbox.run(Command(("sh", "-c", "cat >kept"), stdin=b"one\n", folder=tmp_path))
    ran = await sandbox.run(Command(("sh", "-c", "echo two >>kept; cat kept"), folder=tmp_path))
    there = await sandbox.run(
        Command(
            ("sh", "-c", "cat a/b /seen/kept; ./a/b"),
            {"a/b": b"#!/bin/sh\necho ran\n"},
            shown={"/seen": tmp_path},
        )
    )

    assert ran.out.text == "one\ntwo\n"
    assert there.out.text == "#!/bin/sh\necho ran\none\ntwo\nran\n", there


async def test_a_hundred_run_at_once(sandbox: Sandbox) -> None:
    ran: list[Ran] = []

    async def one(number: int) -> None:
        ran.append(await shell(sandbox, f"sleep 0.1; echo {number}", Limits(wall_s=60)))

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(one, number)

    assert sorted(int(one.out.text) for one in ran) == list(range(100))
    assert all(one.fine for one in ran)


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_it_works_under_trio(sandbox: Sandbox) -> None:
    assert (await shell(sandbox, "echo here")).out.text == "here\n"


async def test_no_thread_is_taken_for_a_command(sandbox: Sandbox) -> None:
    before = threads = len(os.listdir("/proc/self/task"))  # others' libraries have threads too

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(shell, sandbox, "sleep 0.5")
        await anyio.sleep(0.3)
        threads = len(os.listdir("/proc/self/task"))

    assert threads <= before + 1


async def test_a_program_that_is_not_there_ends_as_in_a_shell(sandbox: Sandbox) -> None:
    ran = await sandbox.run(Command(("no-such-program",)))

    assert ran.code == 127
    assert "no-such-program" in ran.err.text


@pytest.mark.parametrize("early", [False, True])
async def test_nothing_is_left_for_long_where_the_one_who_started_it_is_killed(early: bool) -> None:
    """early: while the sandbox is made, so that it does not know yet with whom to die."""
    mark = f"304.{os.getpid()}{early}"
    line = f"echo {mark} && setsid sleep 60 & sleep 60"
    code = (
        "import anyio\n"
        "from podium.engine.sandbox import Command, Limits, find\n"
        "async def main():\n"
        f"  command = Command(('sh', '-c', {line!r}), limits=Limits(wall_s=1))\n"
        "  await (await find()).run(command)\n"
        "anyio.run(main)"
    )
    async with await anyio.open_process([sys.executable, "-c", code], stdout=None) as process:
        with anyio.fail_after(10):
            # bwrap, the first process inside, `timeout`, the shell
            await until(lambda: len(processes_with(f"sh -c echo {mark}")) >= (1 if early else 4))
        process.kill()

    with anyio.fail_after(1 + ORPHAN_S + 2 if early else 1):
        await until(lambda: not processes_with(f"sh -c echo {mark}"))
