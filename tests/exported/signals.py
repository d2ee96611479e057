"""Networks of `transformers` that read sound, images or series of numbers."""

import torch
import transformers as T
from transformers.models.whisper.modeling_whisper import WhisperEncoder
from zoo import BATCH, of_tensors, images, tokens
from language import ENCODER, NO_TOKENS

SOUND = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "conv_dim": (16,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
VIT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
       "image_size": 64, "patch_size": 16}
SPEECH = {"vocab_size": 96, "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
          "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 16,
          "max_source_positions": 30, "max_target_positions": 32, **NO_TOKENS}


def sees(model_name, config_name=None, size=64, **settings):
    def build():
        config = getattr(T, config_name or model_name.split("Model")[0].split("For")[0] + "Config")(**settings)
        return of_tensors(getattr(T, model_name)(config), {"pixel_values": images(size)},
                          {"pixel_values": {0: BATCH}})
    return build


def hears(name, samples=1600, **changes):
    def build():
        model = getattr(T, name + "Model")(getattr(T, name + "Config")(**{**SOUND, **changes}))
        return of_tensors(model, {"input_values": torch.randn(2, samples)},
                          {"input_values": {0: BATCH, 1: "samples"}})
    return build


def clip():
    config = T.CLIPConfig(text_config={**ENCODER, **NO_TOKENS}, vision_config=VIT, projection_dim=16)
    class Scores(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = T.CLIPModel(config)
        def forward(self, input_ids, pixel_values):
            return self.model(input_ids=input_ids, pixel_values=pixel_values).logits_per_image
    return of_tensors(Scores(), {"input_ids": tokens(8), "pixel_values": images(64)})


def detr():
    backbone = T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"])
    config = T.DetrConfig(use_timm_backbone=False, backbone=None, backbone_config=backbone, d_model=32,
                          encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                          encoder_ffn_dim=48, decoder_ffn_dim=48, num_queries=5)
    return of_tensors(T.DetrForObjectDetection(config), {"pixel_values": images(64)})


NETWORKS = {
    "whisper": lambda: of_tensors(
        T.WhisperForConditionalGeneration(T.WhisperConfig(**SPEECH, decoder_start_token_id=1)),
        {"input_features": torch.randn(2, 16, 60), "decoder_input_ids": tokens(5)},
        {"input_features": {0: BATCH}, "decoder_input_ids": {0: BATCH, 1: "target"}}, use_cache=False),
    "whisper_encoder": lambda: of_tensors(WhisperEncoder(T.WhisperConfig(**SPEECH)),
                                          {"input_features": torch.randn(2, 16, 60)},
                                          {"input_features": {0: BATCH}}),
    "wav2vec2": hears("Wav2Vec2"),
    "wav2vec2_stable": hears("Wav2Vec2", do_stable_layer_norm=True, feat_extract_norm="layer"),
    "hubert": hears("Hubert"),
    "wavlm": hears("WavLM"),
    "sew": hears("SEW", conv_dim=(16,) * 13, squeeze_factor=2),
    "audio_spectrogram": lambda: of_tensors(
        T.ASTModel(T.ASTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
                               max_length=64, num_mel_bins=32)), {"input_values": torch.randn(2, 64, 32)}),
    "clip": clip,
    "siglip_vision": sees("SiglipVisionModel", **VIT),
    "vit_hf": sees("ViTModel", **VIT),
    "dinov2": sees("Dinov2Model", **{**VIT, "patch_size": 8}),
    "yolos": sees("YolosForObjectDetection", **{**VIT, "image_size": [64, 64]}, num_detection_tokens=5),
    "segformer": sees("SegformerForSemanticSegmentation", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                      num_attention_heads=[1, 1, 2, 4], decoder_hidden_size=16),
    "glpn": sees("GLPNForDepthEstimation", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1],
                 num_attention_heads=[1, 1, 2, 4], decoder_hidden_size=16),
    "swin2sr": sees("Swin2SRForImageSuperResolution", size=32, image_size=32, embed_dim=16, depths=[2],
                    num_heads=[2], window_size=4),
    "cvt": sees("CvtModel", embed_dim=[8, 16, 32], num_heads=[1, 2, 2], depth=[1, 1, 1]),
    "poolformer_hf": sees("PoolFormerModel", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1]),
    "mobilevit_hf": sees("MobileViTForSemanticSegmentation", image_size=64, hidden_sizes=[16, 24, 32],
                         neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32], aspp_out_channels=16),
    "detr": detr,
    "videomae": lambda: of_tensors(T.VideoMAEModel(T.VideoMAEConfig(**VIT, num_frames=4)),
                                   {"pixel_values": torch.randn(1, 4, 3, 64, 64)}),
    "timesformer": lambda: of_tensors(T.TimesformerModel(T.TimesformerConfig(**VIT, num_frames=4)),
                                      {"pixel_values": torch.randn(1, 4, 3, 64, 64)}),
    "patchtst": lambda: of_tensors(
        T.PatchTSTForPrediction(T.PatchTSTConfig(num_input_channels=3, context_length=32, patch_length=8,
                                                 patch_stride=4, d_model=32, ffn_dim=48, num_hidden_layers=2,
                                                 num_attention_heads=4, prediction_length=8)),
        {"past_values": torch.randn(2, 32, 3)}),
    "patchtsmixer": lambda: of_tensors(
        T.PatchTSMixerForPrediction(T.PatchTSMixerConfig(context_length=32, patch_length=8, patch_stride=8, d_model=16,
                                                         num_layers=2, num_input_channels=3, prediction_length=8)),
        {"past_values": torch.randn(2, 32, 3)}),
    "decision_transformer": lambda: of_tensors(
        T.DecisionTransformerModel(T.DecisionTransformerConfig(state_dim=5, act_dim=2, hidden_size=32, n_layer=2,
                                                               n_head=4, max_ep_len=32)),
        {"states": torch.randn(1, 6, 5), "actions": torch.randn(1, 6, 2), "rewards": torch.randn(1, 6, 1),
         "returns_to_go": torch.randn(1, 6, 1), "timesteps": torch.arange(6).reshape(1, 6),
         "attention_mask": torch.ones(1, 6)}),
    "encodec": lambda: of_tensors(
        T.EncodecModel(T.EncodecConfig(num_filters=4, hidden_size=16, codebook_dim=16, codebook_size=32,
                                       upsampling_ratios=[4, 2], target_bandwidths=[24.0])),
        {"input_values": torch.randn(1, 1, 320)}),
    "vits_like_speecht5": lambda: of_tensors(
        T.SpeechT5HifiGan(T.SpeechT5HifiGanConfig(model_in_dim=16, upsample_initial_channel=16,
                                                  upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4],
                                                  resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]])),
        {"spectrogram": torch.randn(2, 20, 16)}),
}
