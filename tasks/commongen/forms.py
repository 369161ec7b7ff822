"""The usual forms of an English word, by rule and, where rules fail, by a short list. Pure."""

from functools import cache

_IRREGULAR = {
    "be": "is are was were been being am",
    "begin": "began begun", "bite": "bit bitten", "blow": "blew blown", "break": "broke broken",
    "bring": "brought", "build": "built", "burn": "burnt", "buy": "bought", "catch": "caught",
    "child": "children", "choose": "chose chosen", "come": "came", "cut": "cut",
    "dig": "dug", "do": "did done does", "draw": "drew drawn", "drink": "drank drunk",
    "drive": "drove driven", "eat": "ate eaten", "fall": "fell fallen", "feed": "fed",
    "feel": "felt", "fight": "fought", "find": "found", "fly": "flew flown", "foot": "feet",
    "forget": "forgot forgotten", "freeze": "froze frozen", "get": "got gotten",
    "give": "gave given", "go": "went gone goes", "goose": "geese", "grow": "grew grown",
    "hang": "hung", "have": "has had", "hear": "heard", "hide": "hid hidden", "hold": "held",
    "keep": "kept", "knife": "knives", "know": "knew known", "lay": "laid", "lead": "led",
    "leaf": "leaves", "leave": "left", "lie": "lay lain lying", "life": "lives", "light": "lit",
    "lose": "lost", "make": "made", "man": "men", "meet": "met", "mouse": "mice", "pay": "paid",
    "person": "people", "ride": "rode ridden", "ring": "rang rung", "rise": "rose risen",
    "run": "ran", "say": "said", "see": "saw seen", "sell": "sold", "send": "sent",
    "shake": "shook shaken", "sheep": "sheep", "shelf": "shelves", "shine": "shone",
    "shoot": "shot", "sing": "sang sung", "sink": "sank sunk", "sit": "sat", "sleep": "slept",
    "slide": "slid", "speak": "spoke spoken", "spend": "spent", "stand": "stood",
    "steal": "stole stolen", "stick": "stuck", "strike": "struck", "sweep": "swept",
    "swim": "swam swum", "swing": "swung", "take": "took taken", "teach": "taught",
    "tell": "told", "think": "thought", "throw": "threw thrown", "tooth": "teeth",
    "wake": "woke woken", "wear": "wore worn", "wife": "wives", "win": "won", "wolf": "wolves",
    "woman": "women", "write": "wrote written",
}  # fmt: skip
_VOWELS = "aeiou"


@cache
def forms(word: str) -> frozenset[str]:
    """word and the forms of it: plural, third person, past, participles, comparative, who does it."""
    found = {word, *_IRREGULAR.get(word, "").split()}
    if word.endswith("y") and word[-2:-1] not in _VOWELS:
        stem = word[:-1] + "i"
        found |= {stem + "es", stem + "ed", stem + "er", stem + "est", word + "ing"}
    elif word.endswith("e"):
        found |= {word + end for end in ("s", "d", "r", "rs", "st")} | {word[:-1] + "ing"}
    else:
        plural = "es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s"
        found |= {word + end for end in (plural, "s", "ed", "ing", "er", "ers", "est")}
    if _doubles(word):
        found |= {word + word[-1] + end for end in ("ed", "ing", "er", "ers", "est")}
    return frozenset(found)


def _doubles(word: str) -> bool:
    """Whether its last letter may be doubled: a short vowel before one consonant (`stop`, `begin`)."""
    if len(word) < 3 or word[-1] in _VOWELS + "wxy":
        return False
    return word[-2] in _VOWELS and word[-3] not in _VOWELS
