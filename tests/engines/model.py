"""Tiny models of Qwen3 with random weights, dense or with experts, as files: a token is a byte.

Sources: `transformers/models/qwen3/`, `qwen3_moe/` (names and shapes), safetensors' README (the file). The
configuration has the names of older libraries too.
"""

import json
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

SPECIAL: Final = ("<s>", "</s>", "<pad>")
DENSE: Final = "Qwen3-4B"
WITH_EXPERTS: Final = "Qwen3-30B-A3B"
"""Their names, by which admission knows what they are."""
KINDS: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text())
"""The configuration of the dense model, and what that with experts has instead and besides."""
CONFIG: Final = KINDS[DENSE] | KINDS[WITH_EXPERTS]
TOKENS, HIDDEN, HEAD = CONFIG["vocab_size"], CONFIG["hidden_size"], CONFIG["head_dim"]
QUERIES, KEYS = (HEAD * CONFIG[f"num_{name}_heads"] for name in ("attention", "key_value"))
BETWEEN, LAYERS, EXPERTS = (CONFIG[n] for n in ("intermediate_size", "num_hidden_layers", "num_experts"))
Shapes = Iterator[tuple[str, tuple[int, ...]]]


def write(kind: str, folder: Path) -> Path:
    """Write a model, and return its folder."""
    own = folder / kind
    own.mkdir(parents=True, exist_ok=True)
    for name, value in {"config.json": KINDS[DENSE] | KINDS[kind], **_tokenizer()}.items():
        (own / name).write_text(json.dumps(value))
    _write_weights(_shapes(kind), own / "model.safetensors")
    return own


def _shapes(kind: str) -> Shapes:
    yield from {"model.embed_tokens": (TOKENS, HIDDEN), "lm_head": (TOKENS, HIDDEN)}.items()
    yield "model.norm", (HIDDEN,)
    for layer in range(LAYERS):
        yield from ((f"model.layers.{layer}.{name}", shape) for name, shape in _layer(kind))


def _layer(kind: str) -> Shapes:
    yield from {"input_layernorm": (HIDDEN,), "post_attention_layernorm": (HIDDEN,)}.items()
    yield from {"self_attn.q_norm": (HEAD,), "self_attn.k_norm": (HEAD,)}.items()
    yield from {"self_attn.q_proj": (QUERIES, HIDDEN), "self_attn.o_proj": (HIDDEN, QUERIES)}.items()
    yield from {"self_attn.k_proj": (KEYS, HIDDEN), "self_attn.v_proj": (KEYS, HIDDEN)}.items()
    if kind == WITH_EXPERTS:
        yield "mlp.gate", (EXPERTS, HIDDEN)
    for own in [f"mlp.experts.{one}" for one in range(EXPERTS)] if kind == WITH_EXPERTS else ["mlp"]:
        yield from {f"{own}.gate_proj": (BETWEEN, HIDDEN), f"{own}.up_proj": (BETWEEN, HIDDEN)}.items()
        yield f"{own}.down_proj", (HIDDEN, BETWEEN)


def _write_weights(shapes: Shapes, file: Path) -> None:
    """Write numbers of bfloat16, the upper half of those of 32 bits: ones for norms, else random."""
    random, header, data = Random(0), {}, bytearray()  # noqa: S311 - weights
    for name, shape in shapes:
        start, rows = len(data), shape[-1]
        for _ in range(shape[0] if len(shape) > 1 else 1):
            numbers = [random.gauss(0, 0.1) if len(shape) > 1 else 1.0 for _ in range(rows)]
            whole = struct.pack(f"<{rows}f", *numbers)
            data += b"".join(whole[at : at + 2] for at in range(2, len(whole), 4))
        header[f"{name}.weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": (start, len(data))}
    told = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(told)) + told + data)


def _tokenizer() -> dict[str, Any]:
    """Return the files of a tokenizer without merges: as GPT-2's, bytes that are not printed have letters."""
    printed, others = {*range(33, 127), *range(161, 173), *range(174, 256)}, count(256)
    letters = [chr(byte if byte in printed else next(others)) for byte in range(256)]
    words = {word: at for at, word in enumerate((*SPECIAL, *letters))}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False) | {"special": True}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    whole = {
        "version": "1.0",
        "added_tokens": [{"id": words[word], "content": word, **flags} for word in SPECIAL],
        "pre_tokenizer": level,
        "decoder": level,
        "model": {"type": "BPE", "vocab": words, "merges": []},
    }
    told = dict(zip(("bos_token", "eos_token", "pad_token"), SPECIAL, strict=True))
    own = {"tokenizer_class": "PreTrainedTokenizerFast", **told}
    return {"tokenizer.json": whole, "tokenizer_config.json": own}
