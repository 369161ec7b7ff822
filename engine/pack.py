"""Short texts packed for the store: deflated against what most of them say, digests as their bytes.

What was packed begins with a byte that tells how, and is read back for good: a better dictionary gets a number
of its own.
"""

import re
import zlib

PLAIN, DEFLATED = 0, 1
# As events and lists of names have digests; with the colon first it is found ten times sooner.
_DIGEST = re.compile(rb'(:"?)([0-9a-f]{64})')
_DIGEST_BYTES = 32
# As many as one byte counts. Stands for a digest in what is deflated; JSON never has it.
_MOST, _GAP = 255, b"\0"
# Deflating less than SMALL would save some 20 bytes, and takes 15 microseconds.
SMALL, _MOST_TEXT = 64, 1 << 15
# Events as they are written, the most frequent last; nearer is shorter. Part of the store's format.
DICTIONARY = (
    b'{"life":1,"pid":1,"host":"","version":"0.1.0","windows":{}}'
    b'{"parent":"run","usd":null,"tokens":null,"calls":null,"seconds":null}'
    b'{"verb":"topup","number":0,"usd":0,"tokens":0,"calls":0,"seconds":0.0}'
    b'{"outcome":"passed","reason":"","resumable":false,"answer":"","score":1.0,"passed":true,"seconds":1.0}'
    b'{"score":null,"passed":null,"answer":null}{"verifier":"exact","score":0.5,"passed":false}'
    b'{"why":"budget","seconds":null}{"why":"slot","seconds":null}{"name":"starts","value":true}'
    b'{"kind":"parallel","label":"best"}{"kind":"team","label":"team"}{"kind":"agent","label":"agent"}'
    b'{"round":1,"seat":1,"role":"writer","text":""}'
    b'{"outcome":"finished","reason":"","score":null,"began":true,"rounds_left":0}'
    b'{"try":0,"account":"run","kind":"cancelled","message":"in flight","spent":{"usd":0,"tokens":0,"calls":0},'
    b'"usage":{"fresh":0,"input":0,"output":0,"cached":0,"cache_write":0,"reasoning":0,"estimated":false},'
    b'"estimated":true,"seconds":0.0}'
    b'{"try":0,"account":"run","spent":{"usd":0,"tokens":0,"calls":0},"usage":{"fresh":0,"input":0,"output":0,'
    b'"cached":0,"cache_write":0,"reasoning":0,"estimated":false},'
    b'"reply":{"verdict":{"score":1.0,"passed":true,"feedback":""}},"seconds":0.0}'
    b'{"try":0,"account":"run","kind":"verifier","request":"\0","held":{"usd":0,"tokens":0,"calls":0},"model":"",'
    b'"replica":"","messages":[]}'
    b'{"try":0,"account":"run","kind":"model","request":"\0","held":{"usd":0,"tokens":300,"calls":1},"model":"m",'
    b'"replica":"http://127.0.0.1:8000/1","messages":["list:\0","system:\0","user:\0"]}'
    b'","finish":"length","tool_calls":[{"id":"call_1","name":"'
    b'{"try":0,"account":"run","spent":{"usd":0,"tokens":1000,"calls":1},"usage":{"fresh":100,"input":100,'
    b'"output":100,"cached":0,"cache_write":0,"reasoning":0,"estimated":false},"reply":{"text":"","finish":"stop",'
    b'"usage":{"fresh":100,"input":100,"output":100,"cached":0,"cache_write":0,"reasoning":0,"estimated":false},'
    b'"served":"model","replica":"http://127.0.0.1:8000/1","reasoning":""},"seconds":1.0}'
)


def pack(plain: bytes) -> bytes:
    """The bytes to keep for plain: never more than one longer."""
    if len(plain) < SMALL:
        return bytes((PLAIN,)) + plain
    digests: list[bytes] = []
    text = plain
    if _GAP not in plain:
        text, _ = _DIGEST.subn(lambda found: _taken(found, digests), plain, count=_MOST)
    # Small tables for small texts: they are cleared for each.
    bits, memory = (-15, 8) if len(text) > _MOST_TEXT else (-13, 5)
    deflating = zlib.compressobj(
        6, zlib.DEFLATED, bits, memory, zlib.Z_DEFAULT_STRATEGY, DICTIONARY
    )
    deflated = deflating.compress(text) + deflating.flush()
    packed = bytes((DEFLATED, len(digests))) + b"".join(digests) + deflated
    return packed if len(packed) <= len(plain) else bytes((PLAIN,)) + plain


def _taken(found: re.Match[bytes], digests: list[bytes]) -> bytes:
    digests.append(bytes.fromhex(found[2].decode()))
    return found[1] + _GAP


def unpack(kept: bytes) -> bytes:
    """What `pack` was given. Raises ValueError on what it never gives."""
    if kept[:1] == bytes((PLAIN,)):
        return kept[1:]
    if kept[:1] != bytes((DEFLATED,)):
        raise ValueError("a row of the store is packed in no known way")
    begin = 2 + _DIGEST_BYTES * kept[1]
    inflating = zlib.decompressobj(-15, DICTIONARY)
    try:
        text = inflating.decompress(kept[begin:])
    except zlib.error as error:
        raise ValueError(f"a row of the store is damaged: {error}") from error
    if not inflating.eof:
        raise ValueError("a row of the store is cut off")
    if not kept[1]:
        return text
    digests = [
        kept[at : at + _DIGEST_BYTES].hex().encode() for at in range(2, begin, _DIGEST_BYTES)
    ]
    parts = text.split(_GAP)
    return b"".join(part for pair in zip(parts, [*digests, b""], strict=True) for part in pair)
