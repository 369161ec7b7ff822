"""The family `proof` in Agda, in the real sandbox; skipped, and said why, where there is no Agda."""

import shutil
from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.call import CallError
from podium.engine.value import Verdict
from podium.tasks.proof import make, names, reference

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

Judged = Callable[[Task, str], Awaitable[Verdict]]
AGDA = [name for name in names() if make(problem=name).baseline is not None]
TASK = make(problem="plus-zero")
OWN = reference(TASK).strip("`\n")
SAYS = "proof : (n : Nat) -> n + zero == n\n"
needs_agda = pytest.mark.skipif(
    shutil.which("agda") is None, reason="agda is not installed (Debian: apt install agda-bin)"
)


@needs_agda
@pytest.mark.parametrize("name", AGDA)
async def test_the_reference_passes(name: str, judged: Judged) -> None:
    task = make(problem=name)
    assert (await judged(task, reference(task))).passed is True


CHEATS = {
    "an axiom": f"postulate\n  {SAYS}",
    "an axiom by a pragma": f"{{-# TERMINATING #-}}\n{SAYS}proof n = proof n\n",
    "an option": f"{{-# OPTIONS --type-in-type #-}}\n{OWN}",
    "a recursion without an end": f"{SAYS}proof n = proof n\n",
    "an import": f"import Agda.Builtin.TrustMe\n{OWN}",
    "another type": "proof : (n : Nat) -> n == n\nproof n = refl\n",
    "an equality of its own": "data _≡_ (x y : Nat) : Set where\n  yes : x ≡ y\n"
    "proof : (n : Nat) -> (n + zero) ≡ n\nproof n = yes\n",
    "the equality of that name": "module Own where\n  data _==_ (x y : Nat) : Set where\n    yes : x == y\n",
    "numbers of its own": "data Nat : Set where\n  zero : Nat\n"
    "proof : (n : Nat) -> n == n\nproof zero = refl\n",
    "a hole": f"{SAYS}proof n = ?\n",
    "a hole with a name": f"{SAYS}proof n = {{! !}}\n",
    "no case": f"{SAYS}proof zero = refl\n",
    "negative": "data Bad : Set where\n  bad : (Bad -> Empty) -> Bad\nno : Bad -> Empty\n"
    f"no (bad f) = f (bad f)\nabsurd : Empty -> (n : Nat) -> n + zero == n\nabsurd ()\n{SAYS}"
    "proof = absurd (no (bad no))\n",
    "a comment": f"-- {SAYS}",
    "a comment without an end": f"{OWN}\n{{- ",
    "words of success": "checked\n",
    "nothing": "",
}


@needs_agda
@pytest.mark.parametrize("name", CHEATS)
async def test_a_cheat_fails(name: str, judged: Judged) -> None:
    verdict = await judged(TASK, f"```agda\n{CHEATS[name]}\n```")
    assert (verdict.score, verdict.passed) == (0.0, False), verdict
    assert verdict.evidence


IMPOSSIBLE = "proof : (n : Nat) -> n == suc n\n"
HOPES = {
    "cases": f"{IMPOSSIBLE}proof zero = refl\nproof (suc n) = cong suc (proof n)\n",
    "a hole": f"{IMPOSSIBLE}proof n = ?\n",
    "itself": f"{IMPOSSIBLE}proof n = proof n\n",
    "an axiom": f"postulate\n  {IMPOSSIBLE}",
    "no end": f"{{-# TERMINATING #-}}\n{IMPOSSIBLE}proof n = proof n\n",
    "another equality": "data _==_ (x y : Nat) : Set where\n  yes : x == y\n"
    f"{IMPOSSIBLE}proof n = yes\n",
    "another number": f"suc : Nat -> Nat\nsuc n = n\n{IMPOSSIBLE}proof n = refl\n",
}


@needs_agda
@pytest.mark.parametrize("name", HOPES)
async def test_the_control_cannot_be_proved(name: str, judged: Judged) -> None:
    task = make(problem="plus-zero", control=True)
    assert task.name == "proof/agda-control"
    verdict = await judged(task, f"```agda\n{HOPES[name]}\n```")
    assert (verdict.score, verdict.passed) == (0.0, False), verdict


@pytest.mark.skipif(shutil.which("agda") is not None, reason="agda is installed")
async def test_without_agda_there_is_no_verdict_and_it_is_said_why(judged: Judged) -> None:
    with pytest.raises(CallError, match="agda is not installed"):
        await judged(TASK, OWN)
