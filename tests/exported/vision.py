"""Networks of `timm`, narrow and shallow where their constructors allow it."""

import timm
from timm.models import focalnet, metaformer, mlp_mixer, mvitv2, nest, regnet
from timm.models.convmixer import ConvMixer
from timm.layers import GatedMlp
from zoo import vision


def named(name, size=64, **options):
    return lambda: vision(timm.create_model(name, num_classes=10, **options), size)


def made(build, size=64, **options):
    """For networks whose names fix their widths."""
    return lambda: vision(build(num_classes=10, **options), size)


MIXER = {"img_size": 64, "patch_size": 16, "embed_dim": 32, "num_blocks": 2}

# The first ones are a few kilobytes.
NETWORKS = {
    "vit": named("vit_tiny_patch16_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "deit_distilled": named("deit_tiny_distilled_patch16_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "beit": named("beit_base_patch16_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "beitv2_shared": named("beitv2_base_patch16_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "eva02": named("eva02_tiny_patch14_224", size=56, img_size=56, embed_dim=48, depth=2, num_heads=2),
    "cait": named("cait_xxs24_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "xcit": named("xcit_nano_12_p16_224", img_size=64, embed_dim=32, depth=2, num_heads=2),
    "swin": named("swin_tiny_patch4_window7_224", img_size=64, window_size=4, embed_dim=16, depths=(2, 2),
                  num_heads=(1, 2)),
    "swinv2": named("swinv2_tiny_window8_256", img_size=64, window_size=4, embed_dim=16, depths=(2, 2),
                    num_heads=(1, 2)),
    "mixer": made(mlp_mixer.MlpMixer, **MIXER),
    "gmlp": made(mlp_mixer.MlpMixer, block_layer=mlp_mixer.SpatialGatingBlock, mlp_layer=GatedMlp, mlp_ratio=6, **MIXER),
    "resmlp": made(mlp_mixer.MlpMixer, block_layer=mlp_mixer.ResBlock, norm_layer=mlp_mixer.Affine, mlp_ratio=4, **MIXER),
    "convmixer": made(ConvMixer, dim=32, depth=2),
    "convnext": named("convnext_atto", depths=(1, 1, 2, 1), dims=(8, 16, 32, 64)),
    "convnextv2": named("convnextv2_atto", depths=(1, 1, 2, 1), dims=(8, 16, 32, 64)),
    "poolformer": made(metaformer.MetaFormer, depths=(1, 1, 1, 1), dims=(8, 16, 24, 32), token_mixers=metaformer.Pooling,
                       norm_layers=metaformer.GroupNorm1),
    "caformer": made(metaformer.MetaFormer, depths=(1, 1, 1, 1), dims=(16, 16, 32, 64),
                     token_mixers=[metaformer.SepConv, metaformer.SepConv, metaformer.Attention, metaformer.Attention],
                     norm_layers=[metaformer.LayerNorm2dNoBias] * 2 + [metaformer.LayerNormNoBias] * 2),
    "focalnet": made(focalnet.FocalNet, embed_dim=16, depths=(1, 1)),
    "davit": named("davit_tiny", depths=(1, 1), embed_dims=(16, 32), num_heads=(1, 2)),
    "pit": named("pit_ti_224", img_size=64, base_dims=[16, 16], depth=[1, 1], heads=[1, 2]),
    "twins": named("twins_svt_small", img_size=64, embed_dims=(16, 32), num_heads=(1, 2), depths=(2, 2),
                   sr_ratios=(2, 1), mlp_ratios=(2, 2), wss=(4, 4)),
    "pvt_v2": named("pvt_v2_b0", depths=(1, 1), embed_dims=(16, 32), num_heads=(1, 2), sr_ratios=(2, 1),
                    mlp_ratios=(2, 2)),
    "nest": made(nest.Nest, img_size=64, embed_dims=(16, 32), num_heads=(1, 2), depths=(1, 1), num_levels=2),
    "mvitv2": made(mvitv2.MultiScaleVit, img_size=64, cfg=mvitv2.MultiScaleVitCfg(depths=(1, 1), embed_dim=16, num_heads=1)),
    "hiera": named("hiera_tiny_224", img_size=64, embed_dim=16, stages=(1, 1), q_pool=1, num_heads=1),
    "resnet18": named("resnet18"),
    "resnetv2_50": named("resnetv2_50"),
    "resnext26": named("seresnext26t_32x4d"),
    "resnest14": named("resnest14d"),
    "res2net50": named("res2net50_26w_4s"),
    "skresnet18": named("skresnet18"),
    "densenet121": named("densenet121"),
    "dpn48b": named("dpn48b"),
    "regnet": named("regnety_002"),
    "regnet_narrow": made(regnet.RegNet, cfg=regnet.RegNetCfg(w0=8, wa=6.0, wm=2.0, depth=8, group_size=8,
                                                              se_ratio=0.25)),
    "regnetz": named("regnetz_005"),
    "efficientnet_b0": named("efficientnet_b0"),
    "tf_efficientnetv2_b0": named("tf_efficientnetv2_b0"),
    "mobilenetv3": named("mobilenetv3_small_050"),
    "mobilenetv4": named("mobilenetv4_conv_small"),
    "mobileone": named("mobileone_s0"),
    "mobilevit": named("mobilevit_xxs"),
    "mobilevitv2": named("mobilevitv2_050"),
    "ghostnetv2": named("ghostnetv2_100"),
    "maxvit": named("maxvit_rmlp_pico_rw_256", size=64, img_size=64),
    "coatnet": named("coatnet_rmlp_nano_rw_224", size=64, img_size=64),
    "levit": named("levit_128s", size=224),
    "edgenext": named("edgenext_xx_small"),
    "fastvit": named("fastvit_t8"),
    "repvgg": named("repvgg_a0"),
    "repvit": named("repvit_m0_9"),
    "efficientvit": named("efficientvit_b0"),
    "efficientvit_m0": named("efficientvit_m0", size=224),
    "efficientformerv2": named("efficientformerv2_s0", size=224),
    "hrnet": named("hrnet_w18_small"),
    "inception_next": named("inception_next_atto"),
    "nfnet": named("eca_nfnet_l0"),
    "vovnet": named("ese_vovnet19b_dw"),
    "cspresnet": named("cspresnet50"),
    "hgnet": named("hgnetv2_b0"),
    "starnet": named("starnet_s1"),
    "tresnet": named("tresnet_m"),
    "lambda_resnet": named("lambda_resnet26t", size=64),
    "halonet": named("halonet26t", size=64),
    "crossvit": named("crossvit_tiny_240", size=240),
    "tnt": named("tnt_s_legacy_patch16_224", size=224),
    "visformer": named("visformer_tiny", size=224),
    "volo": named("volo_d1_224", size=224),
    "coat": named("coat_lite_tiny", size=224),
    "shvit": named("shvit_s1"),
    "gcvit": named("gcvit_xxtiny", size=224),
    "tiny_vit": named("tiny_vit_5m_224", size=224),
    "sequencer": named("sequencer2d_s", size=224),
}
