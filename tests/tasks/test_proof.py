"""The family `proof` in Metamath: what holds passes, what only looks so does not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.library import ArgumentError
from podium.engine.value import Attempt, Verdict
from podium.tasks import proof
from podium.tasks.proof import judge, load, make, names, reference, verify

METAMATH = [name for name in names() if make(problem=name).baseline is None]


def handed(name: str, text: str) -> Verdict:
    return verify(Attempt(text, text, "main"), make(problem=name))


def own(name: str) -> str:
    return reference(make(problem=name)).strip("`\n")


@pytest.mark.parametrize("name", METAMATH)
def test_the_reference_passes(name: str) -> None:
    assert handed(name, reference(make(problem=name))) == Verdict(1.0, True)
    assert own(name) not in make(problem=name).statement


def test_a_lemma_may_come_before() -> None:
    lemma = "lemma $p |- M I I $= none with-I start rule-2 $."
    text = f"{lemma} ending $p |- M I I U $= none with-M with-I lemma rule-1 $."
    assert handed("ending", text).passed


def test_a_compressed_proof_is_read() -> None:
    text = "middle $p |- M U I $= ( none with-M with-I double rule-2 rule-3 ) ABACZCDEFG $."
    assert handed("middle", text.replace("ABACZCDEFG", "ABACZACCDEF")).passed


STEPS = ["none", "with-M", "with-I", "with-U", "start", "double", "ending"]
STEPS.extend(f"rule-{number}" for number in range(1, 5))
M_U = "impossible $p |- M U $="
CHEATS = {
    "an axiom": ("middle", "easy $a |- M U I $. middle $p |- M U I $= easy $."),
    "the statement as an axiom": ("middle", "middle $a |- M U I $."),
    "an include": ("middle", "$[ other.mm $] middle $p |- M U I $= easy $."),
    "an include in a proof": ("middle", "middle $p |- M U I $= $[ other.mm $] $."),
    "a constant": ("middle", f"$c X $. {own('middle')}"),
    "a hypothesis": ("middle", "${ m.1 $e |- M U I $. middle $p |- M U I $= m.1 $. $}"),
    "a hypothesis that stays": ("middle", f"m.1 $e |- M U I $. {own('middle')}"),
    "a weaker statement": ("middle", "middle $p |- M I $= start $."),
    "another name": ("middle", own("middle").replace("middle $p", "other $p")),
    "the name twice": ("middle", f"middle $p |- M I $= start $. {own('middle')}"),
    "unfinished": ("middle", "middle $p |- M U I $= ? $."),
    "an unfinished lemma": ("middle", "l $p |- M U I $= ? $. middle $p |- M U I $= l $."),
    "in part unfinished": ("middle", "middle $p |- M U I $= none ? start $."),
    "itself": ("middle", "middle $p |- M U I $= middle $."),
    "no proof": ("middle", "middle $p |- M U I $= $."),
    "the proof in a comment": ("middle", f"$( {own('middle')} $)"),
    "a comment that opens another": ("middle", f"$( x $( y $) {own('middle')}"),
    "a comment without an end": ("middle", f"{own('middle')} $( x"),
    "what the program would print": ("middle", "All proofs in the database were verified."),
    "that in a comment": (
        "middle",
        "$( All proofs in the database were verified. $) middle $p |- M U I $= none $.",
    ),
    "more than one left": ("middle", own("middle").replace("$= none", "$= none none")),
    "a wrong step": ("middle", own("middle").replace("double", "start")),
    "of another type": ("middle", own("middle").replace("none with-M", "start", 1)),
    "a control character": ("middle", own("middle").replace("M U I", "M\x0bU I")),
    "nothing": ("middle", ""),
    "a doubling": (
        "middle",
        "middle $p |- M U I $= ( none with-I rule-2 ) AB" + "ZC" * 40 + " $.",
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_fails(name: str) -> None:
    problem, text = CHEATS[name]
    verdict = handed(problem, text)
    assert (verdict.score, verdict.passed) == (0.0, False)
    assert verdict.evidence


@pytest.mark.parametrize("name", ["an axiom", "an include", "a constant", "a weaker statement"])
def test_what_changes_the_theory_or_the_statement_is_flagged(name: str) -> None:
    assert handed(*CHEATS[name]).flags


TWO = "$c t |- $. $v x y $. vx $f t x $. vy $f t y $. pair $a t x y $."
APART = TWO + " ${ $d x y $. apart $a |- x y $. $}"


def test_variables_that_must_be_distinct_are() -> None:
    wanted = "${ $d x y $. w $p |- x y $= ? $. $}"
    assert judge("${ $d x y $. w $p |- x y $= vx vy apart $. $}", APART, wanted).passed
    assert not judge("w $p |- x y $= vx vy apart $.", APART, "w $p |- x y $= ? $.").passed
    assert not judge("w $p |- x x $= vx vx apart $.", APART, "w $p |- x x $= ? $.").passed
    more = judge("${ $d x y $. w $p |- x y $= vx vy apart $. $}", APART, "w $p |- x y $= ? $.")
    assert (more.passed, more.flags) == (False, ("another statement",))


OWN = """
$c |- wff ( -> ) $.  $v p q $.  wp $f wff p $.  wq $f wff q $.
wi $a wff ( p -> q ) $.
$( Detachment, and $[ no include $] $)
${ min $e |- p $.  maj $e |- ( p -> q ) $.
   mp $a |- q $.
   again $p |- q $= wp wq min maj mp $.
$}
${ $v r $.  wr $f wff r $.
   ${ one $e |- ( p -> r ) $.  two $e |- p $.
      twice $p |- r $= ? $.
   $}
$}
${ one.2 $e |- p $. $( not closed $)
   ${ two.2 $e |- ( p -> q ) $.
      first $p |- q $= ? $.
      second $p |- q $= wp wq ? $.
   $}
$}
"""


def test_the_open_theorems_of_a_database_are_problems() -> None:
    tasks = load(OWN)
    assert [task.name for task in tasks] == ["proof/twice", "proof/first", "proof/second"]
    assert "Detachment" in tasks[0].statement
    assert tasks[0].statement.count("wr $f") == 1
    assert [task.name for task in load(OWN, problem="again")] == ["proof/again"]
    assert [task.name for task in load(OWN.partition("${ $v")[0])] == ["proof/again"]


PROVED = {
    "twice": "${ $v r $. wr $f wff r $. ${ a $e |- ( p -> r ) $. b $e |- p $.\n"
    "twice $p |- r $= wp wr b a mp $. $} $}",
    "first": "${ a $e |- p $. ${ b $e |- ( p -> q ) $. first $p |- q $= wp wq a b mp $. $} $}",
    "second": "${ a $e |- p $. ${ b $e |- ( p -> q ) $. second $p |- q $= wp wq a b again $. $} $}",
    "again": "${ a $e |- p $. b $e |- ( p -> q ) $. again $p |- q $= wp wq a b mp $. $}",
}


@pytest.mark.parametrize("name", PROVED)
def test_a_theorem_of_a_users_file_can_be_proved_in_its_blocks(name: str) -> None:
    [task] = load(OWN, problem=name)
    text = PROVED[name]
    assert verify(Attempt(text, text, "main"), task) == Verdict(1.0, True)
    asked = task.statement.rpartition("```\n")[0].rpartition("\n\n")[2]
    for wrong in (
        asked,
        text.replace("$e", "$a"),
        text.replace("$p", "$a").partition("$=")[0] + "$. $}",
        text.replace("a $e |- ", "x $e |- q $. a $e |- "),
        re.sub(r"\bb \$e [^$]*\$\.", "", text),
    ):
        assert not verify(Attempt(wrong, wrong, "main"), task).passed, wrong


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (OWN.replace("min maj mp", "maj min mp"), "again: step 5"),
        ("$[ set.mm $]", "may not stand here"),
        (OWN + "${", "inside a statement or a block"),
        ("prose", "inside a statement"),
        (OWN.replace("$( Det", "$( " + "x " * 60_000 + "Det"), "/extract twice"),
    ],
)
def test_a_file_that_is_no_sound_database_is_told(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(told)):
        load(text)
    with pytest.raises(ArgumentError, match="no theorem thrice"):
        load(OWN, problem="thrice")


@pytest.mark.parametrize("theory", ["logic", "strings"])
def test_every_theorem_that_ships_can_be_asked_of_its_file(theory: str) -> None:
    text = Path(proof.__file__).with_name(f"{theory}.mm").read_text()
    for task in load(text):
        name = task.name.partition("/")[2]
        assert verify(Attempt(own(name), own(name), "main"), task).passed
        assert own(name) not in task.statement


@given(st.lists(st.sampled_from(STEPS)))
def test_the_control_cannot_be_proved(steps: list[str]) -> None:
    task = make(control=True)
    text = f"{M_U} {' '.join(steps)} $."
    assert verify(Attempt(text, text, "main"), task).passed is False


@given(
    st.text()
    | st.lists(st.sampled_from(f"{own('middle')} $c $d $( $) ${{ $}} ( ) A Z ?".split())).map(
        " ".join
    )
)
def test_nothing_that_is_handed_in_breaks_the_judge(text: str) -> None:
    assert handed("middle", text).score is not None


@pytest.mark.parametrize("theory", ["logic", "strings"])
def test_the_program_metamath_agrees(theory: str, tmp_path: Path) -> None:
    """It ends with code 0 whatever it finds: why its code is not asked."""
    program = shutil.which("metamath")
    if program is None:
        pytest.skip("metamath is not installed (Debian: apt install metamath)")
    text = Path(proof.__file__).with_name(f"{theory}.mm").read_text()
    said: list[str] = []
    for written in (
        text,
        text.replace(" mp $.", " ax-1 $.", 1).replace("double rule-1", "start rule-1"),
    ):
        file = tmp_path / "theory.mm"
        file.write_text(written)
        lines = f"read '{file}'\nverify proof *\nexit\ny\n"
        ran = subprocess.run([program], input=lines, capture_output=True, text=True, timeout=20)
        assert ran.returncode == 0
        said.append(ran.stdout)
    assert "All proofs in the database were verified" in said[0]
    assert "?Error" in said[1]
