"""Entries by address, dropped below a node."""

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.places import ByPlace

SEGMENTS = st.sampled_from(["a", "a.b", "a0", "b", "a-", "1.a"])
ADDRESSES = st.lists(SEGMENTS, min_size=1, max_size=3).map("/".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from("xyz"), ADDRESSES),
        st.tuples(st.just("pop"), st.sampled_from("xyz"), ADDRESSES),
        st.tuples(st.just("drop"), st.just(""), ADDRESSES),
    ),
    max_size=20,
)


@given(STEPS)
def test_it_holds_what_a_dict_would_and_drops_what_lies_at_a_node_or_below(
    steps: list[tuple[str, str, str]],
) -> None:
    made, plain = ByPlace[str](lambda _, place: place), dict[str, str]()
    for what, key, place in steps:
        if what == "set":
            made[key] = plain[key] = place
        elif what == "pop":
            made.pop(key)
            plain.pop(key, None)
        else:
            made.drop_below([place])
            inside = (place, place + "/")
            plain = {
                k: p for k, p in plain.items() if p != inside[0] and not p.startswith(inside[1])
            }
        assert sorted(made.keys()) == sorted(plain)
        assert sorted(made.values()) == sorted(plain.values())
        assert all(k in made for k in plain)
        assert len(made) == len(plain)
