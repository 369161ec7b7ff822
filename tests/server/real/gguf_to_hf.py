#!/usr/bin/env python3
"""Turn a Llama-type GGUF (SmolLM2) into the folder that vLLM, SGLang and transformers load, without a hub.

    python gguf_to_hf.py FILE FOLDER

Writes model.safetensors (float16, dequantised), config.json, generation_config.json, tokenizer.json and
tokenizer_config.json with the chat template. Run by an environment that has numpy, gguf and safetensors, which
this project's own has not; so no type checker looks at it.
"""
# pyright: basic, reportMissingImports=false

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file

# The pre-tokenizer is SmolLM2's own: every digit is a token. Other GGUFs need their own entry here.
PRE_TOKENIZERS = {
    "smollm": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ]
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
IN_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
CONTROL, USER_DEFINED = 3, 4  # token types of the GGUF format


def in_halves(weight: np.ndarray, heads: int) -> np.ndarray:
    """Undo llama.cpp's order of the rows of q and k: it interleaves what the folder keeps in two halves."""
    rows = weight.shape[0]
    pairs = weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:])
    return pairs.swapaxes(1, 2).reshape(weight.shape)


def tensors(reader: GGUFReader, heads: int, kv_heads: int) -> dict[str, np.ndarray]:
    found = {}
    for tensor in reader.tensors:
        if tensor.name == "rope_freqs.weight":
            continue
        shape = [int(side) for side in reversed(tensor.shape)]
        weight = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        if tensor.name in WHOLE:
            name = WHOLE[tensor.name]
        else:
            _, layer, part, _ = tensor.name.split(".")  # blk.7.attn_q.weight
            name = f"model.layers.{layer}.{IN_LAYER[part]}.weight"
            if part in ("attn_q", "attn_k"):
                weight = in_halves(weight, heads if part == "attn_q" else kv_heads)
        found[name] = np.ascontiguousarray(weight.astype(np.float16))
    return found


def configuration(meta: dict[str, Any], tied: bool) -> dict[str, Any]:
    heads, width = meta["llama.attention.head_count"], meta["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "head_dim": width // heads,
        "vocab_size": len(meta["tokenizer.ggml.tokens"]),
        "max_position_embeddings": meta["llama.context_length"],
        "rms_norm_eps": meta["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": meta["llama.rope.freq_base"],
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "torch_dtype": "float16",
        **special_ids(meta),
    }


def special_ids(meta: dict[str, Any]) -> dict[str, int]:
    names = {"bos": "bos", "eos": "eos", "pad": "padding"}
    return {
        f"{ours}_token_id": meta[f"tokenizer.ggml.{theirs}_token_id"]
        for ours, theirs in names.items()
    }


def tokenizer(meta: dict[str, Any]) -> dict[str, Any]:
    tokens, kinds = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    flags = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    added = [
        {"id": i, "content": token, **flags}
        for i, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (CONTROL, USER_DEFINED)
    ]
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": True,
        "use_regex": True,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": PRE_TOKENIZERS[meta["tokenizer.ggml.pre"]],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in meta["tokenizer.ggml.merges"]],
        },
    }


def tokenizer_configuration(meta: dict[str, Any]) -> dict[str, Any]:
    tokens, ids = meta["tokenizer.ggml.tokens"], special_ids(meta)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{name.removesuffix("_id"): tokens[i] for name, i in ids.items()},
        "model_max_length": meta["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": meta["tokenizer.chat_template"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("gguf", type=Path)
    parser.add_argument("folder", type=Path, help="made if missing")
    args = parser.parse_args()

    reader = GGUFReader(args.gguf)
    meta = {name: field.contents() for name, field in reader.fields.items()}
    if (kind := meta["general.architecture"]) != "llama":
        raise SystemExit(f"{args.gguf}: architecture {kind}, expected llama")
    tied = all(tensor.name != "output.weight" for tensor in reader.tensors)
    args.folder.mkdir(parents=True, exist_ok=True)

    def write(name: str, value: dict[str, Any]) -> None:
        (args.folder / name).write_text(json.dumps(value, ensure_ascii=False, indent=1), "utf-8")

    write("config.json", configuration(meta, tied))
    write("generation_config.json", special_ids(meta))
    write("tokenizer.json", tokenizer(meta))
    write("tokenizer_config.json", tokenizer_configuration(meta))
    heads, kv_heads = meta["llama.attention.head_count"], meta["llama.attention.head_count_kv"]
    target = args.folder / "model.safetensors"
    save_file(tensors(reader, heads, kv_heads), target, metadata={"format": "pt"})
    target.chmod(0o644)  # the library writes 0600


if __name__ == "__main__":
    main()
