"""The Llama model in torch: its results equal those of the library transformers, with any part of the states cached;
and how its weights are stored.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import EngineError, WeightsDamaged, WeightsError

torch = pytest.importorskip("torch", reason="needs the research extra")
gguf = pytest.importorskip("gguf", reason="needs the research extra")

from models.research import torch_weights  # noqa: E402
from models.research.torch_llama import TorchLlama  # noqa: E402
from models.research.torch_weights import Shape, Tensors  # noqa: E402

pytestmark = pytest.mark.torch

SHAPE = Shape(layers=2, heads=6, kv_heads=2, head=8, epsilon=1e-5, rope_base=10_000.0)
WIDTH, HIDDEN, VOCABULARY = SHAPE.heads * SHAPE.head, 96, 50
TOKENS = [7 * n % VOCABULARY for n in range(40)]


def random_tensors() -> Tensors:
    queries, keys = (heads * SHAPE.head for heads in (SHAPE.heads, SHAPE.kv_heads))
    sizes: dict[str, tuple[int, ...]] = {"token_embd": (VOCABULARY, WIDTH), "output_norm": (WIDTH,)}
    for layer in range(SHAPE.layers):
        of_a_layer = {
            **{"attn_norm": (WIDTH,), "attn_q": (queries, WIDTH), "attn_k": (keys, WIDTH), "attn_v": (keys, WIDTH)},
            **{"attn_output": (WIDTH, queries), "ffn_norm": (WIDTH,)},
            **{"ffn_gate": (HIDDEN, WIDTH), "ffn_up": (HIDDEN, WIDTH), "ffn_down": (WIDTH, HIDDEN)},
        }
        sizes |= {f"blk.{layer}.{part}": size for part, size in of_a_layer.items()}
    random = np.random.default_rng(7)
    arrays = {f"{name}.weight": random.normal(0, 0.2, size).astype(np.float16) for name, size in sizes.items()}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


TENSORS = random_tensors()
NETWORK = TorchLlama(SHAPE, TENSORS)


@pytest.mark.filterwarnings("default")  # transformers and its company warn about themselves
def test_logits_are_those_of_transformers() -> None:
    transformers = pytest.importorskip("transformers", reason="needs the research extra")
    reference = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=WIDTH,
            intermediate_size=HIDDEN,
            num_hidden_layers=SHAPE.layers,
            num_attention_heads=SHAPE.heads,
            num_key_value_heads=SHAPE.kv_heads,
            rms_norm_eps=SHAPE.epsilon,
            rope_theta=SHAPE.rope_base,
            tie_word_embeddings=True,
        )
    )
    names = {
        **{"token_embd": "model.embed_tokens", "output_norm": "model.norm", "attn_norm": "input_layernorm"},
        **{"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj"},
        **{"attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm"},
        **{"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"},
    }
    renamed = {}
    for name, tensor in TENSORS.items():
        *layer, part, _ = name.split(".")
        # Transformers turns a head's first half with its second, GGUF each number with its neighbour.
        by_halves = (
            tensor.view(-1, SHAPE.head // 2, 2, WIDTH).transpose(1, 2) if part in ("attn_q", "attn_k") else tensor
        )
        place = f"model.layers.{layer[1]}." if layer else ""
        renamed[f"{place}{names[part]}.weight"] = by_halves.reshape(tensor.shape).float()
    renamed["lm_head.weight"] = renamed["model.embed_tokens.weight"]
    reference.load_state_dict(renamed)
    with torch.inference_mode():
        expected = reference(torch.tensor([TOKENS])).logits[0, -1]
    logits = NETWORK.run(TOKENS, NETWORK.state(len(TOKENS)).float(), start=0, known=0)
    assert torch.allclose(logits, expected, atol=1e-4)


@given(known=st.integers(0, len(TOKENS) - 1), skipped=st.booleans(), length=st.integers(1, len(TOKENS)))
def test_whatever_is_known_of_the_state_the_logits_are_the_same(known: int, skipped: bool, length: int) -> None:
    known = min(known, length - 1)
    start = known if skipped else 0
    state = NETWORK.state(length).float()  # without rounding to float16, what is left is that of sums
    whole = NETWORK.run(TOKENS[:length], state, start=0, known=0)
    state[:, :, known:] = torch.nan
    assert torch.allclose(NETWORK.run(TOKENS[start:length], state, start=start, known=known), whole, atol=1e-4)


def test_keys_and_values_that_are_known_are_used_and_queries_decide_nothing() -> None:
    state = NETWORK.state(len(TOKENS)).float()
    whole = NETWORK.run(TOKENS, state, start=0, known=0)
    for plane, place in {"q": 0, "k": SHAPE.heads, "v": SHAPE.heads + SHAPE.kv_heads}.items():
        foreign = state.clone()
        foreign[:, place : place + NETWORK.planes[plane], :20] = 0
        close = torch.allclose(NETWORK.run(TOKENS, foreign, start=0, known=20), whole, atol=1e-4)
        assert close == (plane == "q"), plane
        assert torch.equal(NETWORK.run(TOKENS, foreign, start=0, known=0), whole), plane


def written(path: Path, tensors: Tensors = TENSORS, architecture: str = "llama", scaling: str = "none") -> Path:
    """A GGUF file of the tensors: matrices in Q8_0 where their rows can be, the rest in float32."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(SHAPE.layers)
    writer.add_embedding_length(WIDTH)
    writer.add_head_count(SHAPE.heads)
    writer.add_head_count_kv(SHAPE.kv_heads)
    writer.add_layer_norm_rms_eps(SHAPE.epsilon)
    writer.add_rope_freq_base(SHAPE.rope_base)
    writer.add_string("llama.rope.scaling.type", scaling)
    for name, tensor in tensors.items():
        array = tensor.float().numpy()
        kind = gguf.GGMLQuantizationType.Q8_0 if array.shape[-1] % 32 == 0 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_weights_are_dequantised_once_and_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf")
    shape, tensors = torch_weights.load(path, "hash", tmp_path / "kept")
    assert dataclasses.replace(shape, epsilon=SHAPE.epsilon) == SHAPE
    assert shape.epsilon == pytest.approx(SHAPE.epsilon)
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in tensors.items():
        assert torch.allclose(tensor, TENSORS[name], atol=0.01), name
    (kept,) = (tmp_path / "kept").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    path.unlink()
    again_shape, again = torch_weights.load(path, "hash", tmp_path / "kept")
    assert again_shape == shape
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())


@pytest.mark.parametrize("place", [0, 8, 20, 100, 5000, -1])
def test_kept_weights_that_are_damaged_are_made_again(tmp_path: Path, place: int) -> None:
    path = written(tmp_path / "tiny.gguf")
    _, tensors = torch_weights.load(path, "hash", tmp_path)
    kept = tmp_path / "hash.safetensors"
    whole = kept.read_bytes()
    for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 4]) + whole[place:][1:]):
        kept.write_bytes(damaged)
        _, again = torch_weights.load(path, "hash", tmp_path)
        assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
        torch_weights.load(tmp_path / "not needed.gguf", "hash", tmp_path)


def test_what_is_no_plain_llama_is_refused(tmp_path: Path) -> None:
    biased = TENSORS | {"blk.0.attn_q.bias": torch.zeros(WIDTH)}
    for path in (
        written(tmp_path / "other.gguf", architecture="qwen2"),
        written(tmp_path / "biased.gguf", biased),
        written(tmp_path / "scaled.gguf", scaling="yarn"),
    ):
        with pytest.raises(EngineError, match=path.name):
            torch_weights.load(path, path.name, tmp_path)


def test_a_gguf_that_is_damaged_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf")
    whole = path.read_bytes()
    for length in (0, 100, len(whole) // 2):
        path.write_bytes(whole[:length])
        with pytest.raises(WeightsDamaged, match=path.name):
            torch_weights.load(path, "hash", tmp_path)


def test_weights_that_cannot_be_kept_say_so(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.gguf")
    with pytest.raises(WeightsError, match="Make room"):
        torch_weights.load(path, "hash", path)
