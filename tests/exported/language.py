"""Networks of `transformers` that read tokens, with random weights and two narrow layers."""

import torch
import transformers as T
from zoo import VOCABULARY, of_tensors, of_tokens, tokens, BATCH, SEQUENCE

NO_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
ENCODER = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
           "intermediate_size": 48, "max_position_embeddings": 64}
DECODER = {**ENCODER, **NO_TOKENS, "num_key_value_heads": 2}
HEAD = {"head_dim": 8}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
PAIRED = {"vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1,
          "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
          "max_position_embeddings": 64, **NO_TOKENS}
T5 = {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}


def encoder(name, masked=False, config=None, model="Model", **changes):
    def build():
        settings = getattr(T, name + "Config")(**{**ENCODER, **changes, **(config or {})})
        return of_tokens(getattr(T, name + model)(settings), masked=masked)
    return build


def decoder(name, masked=False, model="ForCausalLM", count=2, **changes):
    def build():
        settings = getattr(T, name + "Config")(**{**DECODER, **changes})
        # Exporters know no product of groups whose sizes depend on the tokens.
        settings._experts_implementation = "batched_mm"
        return of_tokens(getattr(T, name + model)(settings), masked=masked, count=count, use_cache=False)
    return build


def translator(name, settings, **changes):
    """An encoder of tokens, and a decoder that attends to it."""
    def build():
        config = getattr(T, name + "Config")(**{**settings, **changes})
        inputs = {"input_ids": tokens(12), "decoder_input_ids": tokens(7)}
        dims = {"input_ids": {0: BATCH, 1: SEQUENCE}, "decoder_input_ids": {0: BATCH, 1: "target"}}
        return of_tensors(getattr(T, name + "ForConditionalGeneration")(config), inputs, dims, use_cache=False)
    return build


def distilbert(masked):
    return lambda: of_tokens(
        T.DistilBertModel(T.DistilBertConfig(vocab_size=VOCABULARY, dim=32, n_heads=4, n_layers=2, hidden_dim=48,
                                             max_position_embeddings=64)), masked=masked)


NETWORKS = {
    "distilbert": distilbert(False),
    "distilbert_masked": distilbert(True),
    "bert": encoder("Bert", masked=True),
    "roberta": encoder("Roberta", masked=True),
    "albert": encoder("Albert", embedding_size=16),
    "electra": encoder("Electra", embedding_size=16),
    "deberta": encoder("Deberta", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "deberta_v2": encoder("DebertaV2", relative_attention=True, pos_att_type=["c2p", "p2c"]),
    "mpnet": encoder("MPNet"),
    "mobilebert": encoder("MobileBert", embedding_size=16, intra_bottleneck_size=16, true_hidden_size=16),
    "squeezebert": encoder("SqueezeBert", embedding_size=32),
    "convbert": encoder("ConvBert", embedding_size=32),
    "roformer": encoder("RoFormer", embedding_size=32),
    "fnet": encoder("FNet"),
    "nystromformer": encoder("Nystromformer", num_landmarks=4, segment_means_seq_len=12, conv_kernel_size=3),
    "modernbert": encoder("ModernBert", config={**NO_TOKENS, "cls_token_id": 1, "sep_token_id": 2}),
    "xlnet": lambda: of_tokens(T.XLNetModel(T.XLNetConfig(vocab_size=VOCABULARY, d_model=32, n_layer=2, n_head=4,
                                                          d_inner=48)), use_mems=False),
    "esm": encoder("Esm", pad_token_id=1, mask_token_id=4, position_embedding_type="rotary"),
    "gpt2": lambda: of_tokens(T.GPT2LMHeadModel(T.GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=32,
                                                             n_layer=2, n_head=4)), use_cache=False),
    "gpt_neo": lambda: of_tokens(T.GPTNeoForCausalLM(T.GPTNeoConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]],
        window_size=4, max_position_embeddings=64)), use_cache=False),
    "gptj": lambda: of_tokens(T.GPTJForCausalLM(T.GPTJConfig(vocab_size=VOCABULARY, n_positions=64, n_embd=32,
                                                             n_layer=2, n_head=4, rotary_dim=4)), use_cache=False),
    "gpt_neox": decoder("GPTNeoX"),
    "opt": decoder("OPT", ffn_dim=48, word_embed_proj_dim=32),
    "bloom": lambda: of_tokens(T.BloomForCausalLM(T.BloomConfig(vocab_size=VOCABULARY, hidden_size=32, n_layer=2,
                                                                n_head=4)), use_cache=False),
    "falcon": decoder("Falcon", new_decoder_architecture=True, num_kv_heads=2),
    "mpt": lambda: of_tokens(T.MptForCausalLM(T.MptConfig(vocab_size=VOCABULARY, d_model=32, n_layers=2, n_heads=4,
                                                          max_seq_len=64)), use_cache=False),
    "llama": decoder("Llama"),
    "llama_masked": decoder("Llama", masked=True),
    # Opset 23 has RotaryEmbedding, of which the exporter writes a form that runtimes take for one sequence alone.
    "llama_one": decoder("Llama", masked=True, count=1),
    "qwen2": decoder("Qwen2"),
    "qwen3": decoder("Qwen3", **HEAD),
    "qwen3_moe": decoder("Qwen3Moe", **HEAD, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24),
    "gemma": decoder("Gemma", **HEAD),
    "gemma2": decoder("Gemma2", **HEAD, sliding_window=4),
    "gemma3": lambda: of_tokens(T.Gemma3ForCausalLM(T.Gemma3TextConfig(**DECODER, **HEAD, sliding_window=4)),
                                use_cache=False),
    "mistral": decoder("Mistral", sliding_window=4),
    "mixtral": decoder("Mixtral", **EXPERTS),
    "phi": decoder("Phi"),
    "phi3": decoder("Phi3"),
    "olmo2": decoder("Olmo2"),
    "cohere": decoder("Cohere"),
    "granite": decoder("Granite"),
    "stablelm": decoder("StableLm"),
    "starcoder2": decoder("Starcoder2"),
    "smollm3": decoder("SmolLM3"),
    "deepseek_v3": decoder("DeepseekV3", q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8,
                           v_head_dim=8, n_routed_experts=4, n_group=2, topk_group=1, num_experts_per_tok=2,
                           moe_intermediate_size=24, first_k_dense_replace=1, num_key_value_heads=4),
    "gpt_oss": decoder("GptOss", **HEAD, **EXPERTS, sliding_window=4),
    "lfm2": decoder("Lfm2", layer_types=["conv", "full_attention"]),
    "mamba": lambda: of_tokens(T.MambaModel(T.MambaConfig(vocab_size=VOCABULARY, hidden_size=32,
                                                          num_hidden_layers=2, state_size=4)), 8, use_cache=False),
    "mamba2": lambda: of_tokens(T.Mamba2Model(T.Mamba2Config(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, state_size=8, head_dim=8, num_heads=8, n_groups=2,
        chunk_size=4)), 8, use_cache=False),
    "rwkv": lambda: of_tokens(T.RwkvModel(T.RwkvConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                                       attention_hidden_size=32, intermediate_size=48)), 8,
                              use_cache=False),
    "t5": translator("T5", T5),
    "mt5_gated": translator("MT5", T5, feed_forward_proj="gated-gelu"),
    "t5_encoder": lambda: of_tokens(T.T5EncoderModel(T.T5Config(**T5)), masked=True),
    "bart": translator("Bart", PAIRED),
    "pegasus": translator("Pegasus", PAIRED),
    "m2m100": translator("M2M100", PAIRED),
    "layoutlm": lambda: of_tensors(T.LayoutLMModel(T.LayoutLMConfig(**ENCODER)), {
        "input_ids": tokens(12), "bbox": torch.randint(0, 1000, (2, 12, 2)).sort().values.repeat(1, 1, 2)[
            :, :, [0, 2, 1, 3]].sort().values}),
}
