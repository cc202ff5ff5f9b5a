"""The parts of llama.cpp that Jackdaw uses: functions, fields and constants of `llama.h`, and two functions of
`ggml-backend.h`.

Nothing else is called. An installed header has to declare all of it as here, except that whole numbers may have other
sizes, and the fields of a struct may be in another order, with other fields between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from models.c_declarations import PRIMITIVES, Field, HeaderError, Signature

if TYPE_CHECKING:
    from models.c_header import Header

CALLS = """
struct llama_batch {
    int32_t n_tokens;
    int32_t * token;
    float * embd;
    int32_t * pos;
    int32_t * n_seq_id;
    int32_t ** seq_id;
    int8_t * logits;
};

struct llama_model_params {
    int32_t n_gpu_layers;
    void * progress_callback;
    bool vocab_only;
    bool use_extra_bufts;
};

struct llama_context_params {
    uint32_t n_ctx, n_batch, n_ubatch, n_seq_max, n_outputs_max;
    int32_t n_threads, n_threads_batch;
    int flash_attn_type, type_k, type_v;
    void * cb_eval;
    void * cb_eval_user_data;
    void * abort_callback;
    void * abort_callback_data;
    bool embeddings, offload_kqv, no_perf, kv_unified;
};

struct llama_model_quantize_params {
    int32_t nthread;
    int ftype;
    bool allow_requantize, quantize_output_tensor;
};

typedef void (*ggml_log_callback)(int level, const char * text, void * data);
void llama_log_set(void * callback, void * data);

void llama_backend_init(void);
const char * llama_print_system_info(void);
bool llama_supports_gpu_offload(void);
ggml_backend_reg * ggml_backend_load(const char * path);
size_t ggml_backend_reg_count(void);

llama_model_params llama_model_default_params(void);
llama_model * llama_model_load_from_file(const char * path, llama_model_params parameters);
void llama_model_free(llama_model * model);
const llama_vocab * llama_model_get_vocab(const llama_model * model);
const char * llama_model_chat_template(const llama_model * model, const char * name);
int32_t llama_model_meta_val_str(const llama_model * model, const char * key, char * text, size_t room);
int32_t llama_model_n_ctx_train(const llama_model * model);
int32_t llama_model_n_embd(const llama_model * model);
int32_t llama_model_n_head(const llama_model * model);
int32_t llama_model_n_head_kv(const llama_model * model);
int32_t llama_model_n_layer(const llama_model * model);
int32_t llama_model_n_swa(const llama_model * model);
uint64_t llama_model_n_params(const llama_model * model);
int llama_model_rope_type(const llama_model * model);
bool llama_model_has_decoder(const llama_model * model);
bool llama_model_has_encoder(const llama_model * model);
bool llama_model_is_diffusion(const llama_model * model);
bool llama_model_is_hybrid(const llama_model * model);
bool llama_model_is_recurrent(const llama_model * model);
llama_model_quantize_params llama_model_quantize_default_params(void);
uint32_t llama_model_quantize(const char * from, const char * to, const llama_model_quantize_params * parameters);

llama_adapter_lora * llama_adapter_lora_init(llama_model * model, const char * path);
int32_t llama_set_adapters_lora(llama_context * context, llama_adapter_lora ** adapters, size_t count, float * scales);

int32_t llama_vocab_n_tokens(const llama_vocab * vocabulary);
int32_t llama_vocab_bos(const llama_vocab * vocabulary);
bool llama_vocab_is_eog(const llama_vocab * vocabulary, int32_t token);
const char * llama_vocab_get_text(const llama_vocab * vocabulary, int32_t token);
int32_t llama_tokenize(
    const llama_vocab * vocabulary, const char * text, int32_t bytes, int32_t * tokens, int32_t room, bool add_special,
    bool parse_special);
int32_t llama_token_to_piece(
    const llama_vocab * vocabulary, int32_t token, char * text, int32_t room, int32_t strip, bool special);

llama_context_params llama_context_default_params(void);
llama_context * llama_init_from_model(llama_model * model, llama_context_params parameters);
void llama_free(llama_context * context);
uint32_t llama_n_ctx(const llama_context * context);
llama_batch llama_batch_get_one(int32_t * tokens, int32_t count);
int32_t llama_decode(llama_context * context, llama_batch batch);
float * llama_get_logits_ith(llama_context * context, int32_t row);
float * llama_get_embeddings(llama_context * context);
void llama_set_embeddings(llama_context * context, bool is_on);

llama_memory_i * llama_get_memory(const llama_context * context);
bool llama_memory_can_shift(llama_memory_i * memory);
void llama_memory_seq_add(llama_memory_i * memory, int32_t sequence, int32_t start, int32_t stop, int32_t by);
void llama_memory_seq_cp(llama_memory_i * memory, int32_t source, int32_t target, int32_t start, int32_t stop);
int32_t llama_memory_seq_pos_min(llama_memory_i * memory, int32_t sequence);
bool llama_memory_seq_rm(llama_memory_i * memory, int32_t sequence, int32_t start, int32_t stop);
size_t llama_state_seq_get_size(llama_context * context, int32_t sequence);
size_t llama_state_seq_get_data(llama_context * context, uint8_t * data, size_t bytes, int32_t sequence);
size_t llama_state_seq_set_data(llama_context * context, const uint8_t * data, size_t bytes, int32_t sequence);
"""
"""The declarations of the functions, in C, as `models.c_header` reads them."""

CONSTANTS = (
    "GGML_TYPE_F16",
    "GGML_TYPE_Q8_0",
    "LLAMA_FLASH_ATTN_TYPE_DISABLED",
    "LLAMA_FLASH_ATTN_TYPE_ENABLED",
    "LLAMA_FTYPE_MOSTLY_Q4_0",
    "LLAMA_FTYPE_MOSTLY_Q4_K_M",
    "LLAMA_FTYPE_MOSTLY_Q8_0",
    "LLAMA_STATE_SEQ_VERSION",
)


class Declarations(NamedTuple):
    """A header's declarations of the parts that Jackdaw uses, by name. `structs` also holds the structs that are
    members of these.
    """

    structs: Mapping[str, tuple[Field, ...]]
    functions: Mapping[str, Signature]
    callbacks: Mapping[str, Signature]
    constants: Mapping[str, int]


def declarations(header: Header) -> Declarations:
    """Return a header's declarations of the parts that Jackdaw uses. Raises HeaderError if a part is missing or
    differs.
    """
    ours = header.__class__(CALLS)
    structs: dict[str, tuple[Field, ...]] = {}
    for name in ours.names("struct"):
        structs[name] = header.struct(name)
        _compare_fields(name, ours.struct(name), structs[name])
    functions = {name: header.function(name) for name in ours.names("function")}
    callbacks = {name: header.callback(name) for name in ours.names("callback")}
    for name, signature in functions.items():
        _compare_types(name, ours.function(name), signature)
    for name, signature in callbacks.items():
        _compare_types(name, ours.callback(name), signature)
    waiting = list(_parts(*structs.values()))
    while waiting:
        name = waiting.pop()
        if name not in structs:
            structs[name] = header.struct(name)
            waiting += _parts(structs[name])
    return Declarations(structs, functions, callbacks, {name: header.constant(name) for name in CONSTANTS})


def _compare_fields(struct: str, ours: tuple[Field, ...], declared: tuple[Field, ...]) -> None:
    types = {field.name: field.type for field in declared}
    for name, type_ in ours:
        if name not in types:
            raise HeaderError(f"declares no {name} in the struct {struct}")
        if _kind(types[name]) != _kind(type_):
            raise HeaderError(f"declares {name} in the struct {struct} as {types[name]}, and Jackdaw uses a {type_}")


def _compare_types(name: str, ours: Signature, declared: Signature) -> None:
    used, given = ([_kind(type_) for type_ in (types.result, *types.arguments)] for types in (ours, declared))
    if used != given:
        raise HeaderError(f"declares {name} as {_shown(declared)}, and Jackdaw calls it as {_shown(ours)}")


def _shown(signature: Signature) -> str:
    return f"{signature.result} ({', '.join(signature.arguments)})"


def _kind(type_: str) -> str:
    """Return the group of types to which a type belongs; Python passes all values of a group in the same way."""
    if type_ in PRIMITIVES:
        return "float" if type_ in ("float", "double") else "number"
    base = type_.rstrip("*")
    return type_.replace(base, PRIMITIVES.get(base, base))


def _parts(*structs: tuple[Field, ...]) -> Iterator[str]:
    """Yield the names of the structs that the given structs contain by value."""
    for field in (field for fields in structs for field in fields):
        single = field.type.partition("[")[0]
        if not (single.endswith("*") or single in PRIMITIVES):
            yield single
