"""The `replies` of a test: what each role says, in turn, in the place of the simulated agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from podium.dsl.program import Program
from podium.dsl.tried import Reply

from ..call import ModelCall
from .agents import Speak, Speech
from .speakers import speaker_of


@dataclass(slots=True)
class Replies:
    """replies: by role, "" for every role that has none of its own; the last is said again and again.

    A call that is sent again, also in a later life of the run, is answered as before.
    """

    program: Program
    replies: Mapping[str, Sequence[Reply]]
    otherwise: Speak
    _turns: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])

    def __call__(self, call: ModelCall) -> Speech:
        said = self.otherwise(call)
        role = speaker_of(self.program, call.address).role
        name = "" if role is None else role.name
        several = self.replies.get(name) or self.replies.get("")
        if not several:
            return said
        turns = self._turns.setdefault(name, {})
        turn = turns.setdefault(call.address, len(turns))
        return replace(said, text=_text(several[min(turn, len(several) - 1)]))


def _text(reply: Reply) -> str:
    return reply if isinstance(reply, str) else orjson.dumps(dict(reply)).decode()
