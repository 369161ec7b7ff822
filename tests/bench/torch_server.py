"""A transformer with made-up weights behind OpenAI's API, for `gpu.py`. It takes a Python with torch and aiohttp.

    python torch_server.py --replicas 2 --size tiny          # prints {"urls": […], "device": …} when it listens

What it says means nothing; what it costs is real: every token goes through all layers, requests are decoded in
one batch, and a prompt's beginning that a slot of the same replica has in its KV cache is copied, not computed
again. Replicas share the weights and have a cache each. A token is a byte.
"""
# Torch is of the server's Python, which need not be this project's.
# pyright: basic, reportMissingImports=false

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial

import torch
import torch.nn.functional as F
from aiohttp import web

# width, layers, heads, slots, context
SIZES = {
    "tiny": (64, 2, 4, 8, 4096),
    "small": (1024, 12, 16, 32, 4096),
    "large": (4096, 32, 32, 32, 4096),
}
VOCABULARY = 256


class Layer:
    def __init__(self, width: int, device: str, kind: torch.dtype) -> None:
        def weight(rows: int, columns: int) -> torch.Tensor:
            return torch.randn(rows, columns, device=device, dtype=kind) * columns**-0.5

        self.qkv, self.out = weight(3 * width, width), weight(width, width)
        self.up, self.down = weight(4 * width, width), weight(width, 4 * width)


class Weights:
    def __init__(self, size: str, device: str) -> None:
        torch.manual_seed(0)
        self.width, layers, self.heads, self.slots, self.context = SIZES[size]
        self.device, self.kind = device, torch.bfloat16 if device == "cuda" else torch.float32
        self.layers = [Layer(self.width, device, self.kind) for _ in range(layers)]
        make = partial(torch.randn, device=device, dtype=self.kind)
        self.embed, self.place = make(VOCABULARY, self.width), make(self.context, self.width)


@dataclass(eq=False)
class Request:
    """tokens: the prompt, then what was made. cached: of the prompt. out: each token made, None at the end."""

    prompt: int
    tokens: list[int]
    most: int
    cached: int = 0
    gone: bool = False
    out: "asyncio.Queue[int | None]" = field(default_factory=asyncio.Queue)


class Replica:
    """One KV cache: of each slot what it holds, and who uses it."""

    def __init__(self, weights: Weights) -> None:
        self.w = weights
        shape = (len(weights.layers), weights.slots, weights.heads, weights.context)
        each = weights.width // weights.heads
        self.k = torch.zeros(*shape, each, device=weights.device, dtype=weights.kind)
        self.v = torch.zeros_like(self.k)
        self.holds: list[list[int]] = [[] for _ in range(weights.slots)]
        self.used: list[Request | None] = [None] * weights.slots
        self.last = [0.0] * weights.slots
        self.waiting: list[Request] = []
        self.news = asyncio.Event()
        self.read = self.hit = 0

    async def run(self) -> None:
        while True:
            self._seat()
            busy = [slot for slot, request in enumerate(self.used) if request is not None]
            if not busy:
                self.news.clear()
                await self.news.wait()
                continue
            made = await asyncio.to_thread(self._step, busy)
            for slot, token in zip(busy, made, strict=True):
                self._take(slot, token)

    def _seat(self) -> None:
        while self.waiting and None in self.used:
            request = self.waiting.pop(0)
            free = [slot for slot, used in enumerate(self.used) if used is None]
            shared = [_shared(held, request.tokens[: request.prompt]) for held in self.holds]
            best = max(range(len(shared)), key=lambda slot: (shared[slot], slot in free))
            # What the request shares with a slot that goes on, or that is kept for others, is copied from it.
            slot = best if best in free else min(free, key=lambda one: self.last[one])
            n = min(shared[best], request.prompt - 1)
            if slot != best:
                self.k[:, slot, :, :n] = self.k[:, best, :, :n]
                self.v[:, slot, :, :n] = self.v[:, best, :, :n]
            self.holds[slot] = request.tokens[:n]
            request.cached, self.used[slot] = n, request
            self.read += request.prompt
            self.hit += n

    @torch.inference_mode()
    def _step(self, busy: list[int]) -> list[int]:
        """A token more for each of the slots: those with a prompt to read one by one, the others together."""
        together = [s for s in busy if len(self._of(s).tokens) - len(self.holds[s]) == 1]
        alone = [s for s in busy if s not in together]
        made = {s: self._forward([s])[0] for s in alone}
        if together:
            made |= dict(zip(together, self._forward(together), strict=True))
        return [made[s] for s in busy]

    def _of(self, slot: int) -> Request:
        request = self.used[slot]
        assert request is not None
        return request

    def _forward(self, slots: list[int]) -> list[int]:
        w, fresh = self.w, [self._of(s).tokens[len(self.holds[s]) :] for s in slots]
        starts = torch.tensor([len(self.holds[s]) for s in slots], device=w.device)
        tokens = torch.tensor(fresh, device=w.device)
        count = tokens.shape[1]
        places = starts[:, None] + torch.arange(count, device=w.device)
        longest = int(places.max()) + 1
        x = w.embed[tokens] + w.place[places]
        seen = torch.arange(longest, device=w.device) <= places[..., None]
        index = torch.tensor(slots, device=w.device)
        for n, layer in enumerate(w.layers):
            q, k, v = self._heads(F.layer_norm(x, (w.width,)) @ layer.qkv.T)
            self.k[n][index[:, None], :, places] = k.transpose(1, 2)
            self.v[n][index[:, None], :, places] = v.transpose(1, 2)
            kept = self.k[n][index, :, :longest], self.v[n][index, :, :longest]
            y = F.scaled_dot_product_attention(q, *kept, attn_mask=seen[:, None])
            x = x + y.transpose(1, 2).reshape(x.shape) @ layer.out.T
            x = x + F.gelu(F.layer_norm(x, (w.width,)) @ layer.up.T) @ layer.down.T
        for slot, new in zip(slots, fresh, strict=True):
            self.holds[slot] += new
        logits = (x[:, -1] @ w.embed.T).float()
        found: list[int] = (logits[:, 97:123].argmax(-1) + 97).tolist()  # a letter
        return found

    def _heads(self, qkv: torch.Tensor) -> tuple[torch.Tensor, ...]:
        shape = (*qkv.shape[:2], self.w.heads, -1)
        return tuple(part.reshape(shape).transpose(1, 2) for part in qkv.chunk(3, -1))

    def _take(self, slot: int, token: int) -> None:
        request = self._of(slot)
        request.tokens.append(token)
        request.out.put_nowait(token)
        full = len(request.tokens) >= self.w.context
        if request.gone or full or len(request.tokens) - request.prompt >= request.most:
            request.out.put_nowait(None)
            self.used[slot], self.last[slot] = None, time.monotonic()


def _shared(one: list[int], other: list[int]) -> int:
    n = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        n += 1
    return n


# --- HTTP ----------------------------------------------------------------------------------------


async def models(request: web.Request) -> web.Response:
    context = request.app[REPLICA].w.context
    return web.json_response({"data": [{"id": "made-up", "max_model_len": context}]})


async def chat(request: web.Request) -> web.StreamResponse:
    replica, body = request.app[REPLICA], await request.json()
    text = "".join(f"<{m['role']}>{m['content']}" for m in body["messages"])
    tokens = list(text.encode())
    most = body.get("max_tokens") or body.get("max_completion_tokens") or 16
    if len(tokens) + most > replica.w.context:
        error = {"message": "maximum context length exceeded", "code": "context_length_exceeded"}
        return web.json_response({"error": error}, status=400)
    asked = Request(len(tokens), tokens, most)
    replica.waiting.append(asked)
    replica.news.set()
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    try:
        await answer.prepare(request)
        async for chunk in _chunks(asked):
            await answer.write(f"data: {chunk}\n\n".encode())
    finally:
        asked.gone = True
    return answer


async def _chunks(asked: Request) -> AsyncIterator[str]:
    made = 0
    while (token := await asked.out.get()) is not None:
        made += 1
        choice = {"index": 0, "delta": {"content": chr(token)}, "finish_reason": None}
        yield json.dumps({"choices": [choice]})
    yield json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
    usage = {"prompt_tokens": asked.prompt, "completion_tokens": made}
    usage |= {"prompt_tokens_details": {"cached_tokens": asked.cached}}
    yield json.dumps({"choices": [], "usage": usage})
    yield "[DONE]"


REPLICA = web.AppKey("replica", Replica)


async def serve(weights: Weights, count: int) -> None:
    urls: list[str] = []
    running: list[asyncio.Task[None]] = []
    for _ in range(count):
        app = web.Application()
        app[REPLICA] = Replica(weights)
        app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        urls.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        running.append(asyncio.create_task(app[REPLICA].run()))
    print(json.dumps({"urls": urls, "device": weights.device}), flush=True)
    running.append(asyncio.create_task(_parent_gone(os.getppid())))
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _parent_gone(parent: int) -> None:
    """Return once who started this is gone, who then cannot end it."""
    while os.getppid() == parent:  # noqa: ASYNC110  # the death of a parent can only be looked for
        await asyncio.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--replicas", type=int, default=2)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    asyncio.run(serve(Weights(args.size, device), args.replicas))


if __name__ == "__main__":
    main()
