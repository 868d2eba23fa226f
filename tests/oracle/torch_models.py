"""Torch mirrors of the built-in models (src/monet/models): same spec strings, same weight names and shapes, same
operations in the same order, so that weights, gradients and saved tensors can be compared name by name.

    model = make("gpt2:layers=2,seq=16")       # an nn.Module; forward() takes the graph's inputs in their order
    logits = model(*example_inputs("gpt2:layers=2,seq=16", batch=2))

As a script it prints the table of parameters that tests/data/parameters holds:

    python3 torch_models.py SPEC                # of the mirror
    python3 torch_models.py --torchvision NAME  # of torchvision's own model

and the logits that tests/data/logits.txt holds:

    python3 torch_models.py --logits
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

# ---- Specs ----

_GPT2 = dict(seq=1024, layers=12, width=768, heads=12, vocab=50257, positions=1024, dropout=0.0)
_RESNET = dict(image=224, classes=1000, stem="imagenet", norm="batch", groups=32, width=64)
_VGG = dict(image=224, classes=1000, width=64, hidden=4096, dropout=0.0)
_MOBILENET = dict(image=224, classes=1000, dropout=0.0)
_BERT = dict(seq=512, layers=12, width=768, heads=12, vocab=30522, positions=512, dropout=0.0, head="none", classes=2)
DEFAULTS = {
    "mlp": {"in": 784, "hidden": 256, "layers": 2, "classes": 10},
    "resnet18": _RESNET,
    "resnet34": _RESNET,
    "resnet50": _RESNET,
    "resnet101": _RESNET,
    "resnet152": _RESNET,
    "vgg11": _VGG,
    "vgg13": _VGG,
    "vgg16": _VGG,
    "vgg19": _VGG,
    "mobilenet_v2": _MOBILENET,
    "mobilenet_v3_large": _MOBILENET,
    "mobilenet_v3_small": _MOBILENET,
    "unet": dict(image=256, classes=2, width=64, levels=4),
    "vit_b_16": dict(image=224, classes=1000, layers=12, width=768, heads=12, mlp=3072),
    "gpt2": _GPT2,
    "gpt2-medium": dict(_GPT2, layers=24, width=1024, heads=16),
    "gpt2-large": dict(_GPT2, layers=36, width=1280, heads=20),
    "gpt2-xl": dict(_GPT2, layers=48, width=1600, heads=25),
    "gpt3-175b": dict(_GPT2, layers=96, width=12288, heads=96, seq=2048, positions=2048),
    "gpt2-mini": dict(seq=256, layers=4, width=512, heads=4, ff=1376, vocab=4000),
    "bert-base": _BERT,
    "bert-large": dict(_BERT, layers=24, width=1024, heads=16),
    "llama2-7b": dict(seq=4096, layers=32, width=4096, heads=32, kv_heads=32, ff=11008, vocab=32000),
}


def parse(spec):
    """("gpt2", {every option: its value})"""
    name, _, text = spec.partition(":")
    options = dict(DEFAULTS[name])
    for part in filter(None, text.split(",")):
        key, value = part.split("=")
        options[key] = type(options[key])(value)
    return name, options


def make(spec):
    name, o = parse(spec)
    if name == "mlp":
        return Mlp(o)
    if name.startswith("resnet"):
        return ResNet(o, *{"resnet18": ((2, 2, 2, 2), False),
                           "resnet34": ((3, 4, 6, 3), False),
                           "resnet50": ((3, 4, 6, 3), True),
                           "resnet101": ((3, 4, 23, 3), True),
                           "resnet152": ((3, 8, 36, 3), True)}[name])
    if name.startswith("vgg"):
        return Vgg(o, {"vgg11": (1, 1, 2, 2, 2), "vgg13": (2, 2, 2, 2, 2),
                       "vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}[name])
    if name.startswith("mobilenet"):
        import torchvision
        return getattr(torchvision.models, name)(num_classes=o["classes"], dropout=o["dropout"])
    if name == "unet":
        return Unet(o)
    if name == "vit_b_16":
        return Vit(o)
    if name == "gpt2-mini":
        return MiniGpt(o)
    if name.startswith("gpt"):
        return Gpt2(o)
    if name.startswith("bert"):
        return Bert(o) if o["head"] == "none" else BertWithHead(o)
    return Llama(o)


def example_inputs(spec, batch, seed=0):
    """Random inputs in the order forward() takes them."""
    name, o = parse(spec)
    generator = torch.Generator().manual_seed(seed)
    if name == "mlp":
        return (torch.randn(batch, o["in"], generator=generator),)
    if "image" in o:
        return (torch.randn(batch, 3, o["image"], o["image"], generator=generator),)
    tokens = torch.randint(o["vocab"], (batch, o["seq"]), generator=generator)
    if name.startswith("bert"):
        return (tokens, torch.randint(2, (batch, o["seq"]), generator=generator))
    return (tokens,)


# ---- Layers ----


def dropout(module, x, ratio):
    return F.dropout(x, ratio, module.training) if ratio else x


def causal_mask(seq):
    return torch.full((seq, seq), -1e9).triu(1)


def split_heads(x, heads):
    batch, seq, width = x.shape
    return x.view(batch, seq, heads, width // heads).transpose(1, 2)


def merge_heads(x):
    batch, heads, seq, head = x.shape
    return x.transpose(1, 2).reshape(batch, seq, heads * head)


def attention(module, q, k, v, mask=None, ratio=0.0, scale_query=False):
    scale = 1 / math.sqrt(q.shape[-1])
    if scale_query:
        q = q * scale
    scores = q @ k.transpose(-1, -2)
    if not scale_query:
        scores = scores * scale
    if mask is not None:
        scores = scores + mask
    share = dropout(module, F.softmax(scores, dim=-1), ratio)
    return merge_heads(share @ v)


class Conv1D(nn.Module):
    """A linear layer whose weight is stored [in, out]."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_in, n_out) / math.sqrt(n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return x @ self.weight + self.bias


class PackedSelfAttention(nn.Module):
    """Named like nn.MultiheadAttention, with its operations written out: the query is scaled."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.randn(3 * width, width) / math.sqrt(width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x, mask=None):
        packed = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (split_heads(part, self.heads) for part in packed.chunk(3, dim=-1))
        return self.out_proj(attention(self, q, k, v, mask, scale_query=True))


# ---- Perceptron ----


class Mlp(nn.Module):
    def __init__(self, o):
        super().__init__()
        widths = [o["in"]] + o["layers"] * [o["hidden"]] + [o["classes"]]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


# ---- ResNet ----


class FrozenBatchNorm(nn.BatchNorm2d):
    """Batch normalisation by its running statistics, whatever the mode; scale and bias are trained."""

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)


def conv_norm(n_in, n_out, kernel, stride, o):
    conv = nn.Conv2d(n_in, n_out, kernel, stride, (kernel - 1) // 2, bias=o["norm"] == "folded")
    norm = {"batch": nn.BatchNorm2d,
            "frozen": FrozenBatchNorm,
            "folded": lambda channels: nn.Identity(),
            "group": lambda channels: nn.GroupNorm(o["groups"], channels)}[o["norm"]](n_out)
    return conv, norm


class ResidualBlock(nn.Module):
    def __init__(self, n_in, planes, stride, bottleneck, o):
        super().__init__()
        n_out = 4 * planes if bottleneck else planes
        plan = [(n_in, planes, 1, 1), (planes, planes, 3, stride), (planes, n_out, 1, 1)] if bottleneck else [
            (n_in, planes, 3, stride), (planes, planes, 3, 1)]
        self.depth = len(plan)
        for i, (a, b, kernel, step) in enumerate(plan, 1):
            conv, norm = conv_norm(a, b, kernel, step, o)
            setattr(self, f"conv{i}", conv)
            setattr(self, f"bn{i}", norm)
        self.downsample = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(*conv_norm(n_in, n_out, 1, stride, o))

    def forward(self, x):
        y = x
        for i in range(1, self.depth + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.depth:
                y = F.relu(y)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, o, blocks, bottleneck):
        super().__init__()
        self.cifar = o["stem"] == "cifar"
        width = o["width"]
        self.conv1, self.bn1 = conv_norm(3, width, 3 if self.cifar else 7, 1 if self.cifar else 2, o)
        channels = width
        for stage, count in enumerate(blocks):
            layers = []
            for i in range(count):
                planes = width << stage
                layers.append(ResidualBlock(channels, planes, 2 if stage and i == 0 else 1, bottleneck, o))
                channels = 4 * planes if bottleneck else planes
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, o["classes"])

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        if not self.cifar:
            x = F.max_pool2d(x, 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = F.avg_pool2d(x, int(x.shape[-1])).flatten(1) if self.cifar else x.mean((2, 3))
        return self.fc(x)


# ---- VGG ----


class Vgg(nn.Module):
    def __init__(self, o, convolutions):
        super().__init__()
        layers, channels = [], 3
        for stage, count in enumerate(convolutions):
            for _ in range(count):
                planes = o["width"] << min(stage, 3)
                layers += [nn.Conv2d(channels, planes, 3, padding=1), nn.ReLU()]
                channels = planes
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, o["hidden"]), nn.ReLU(), nn.Dropout(o["dropout"]),
            nn.Linear(o["hidden"], o["hidden"]), nn.ReLU(), nn.Dropout(o["dropout"]),
            nn.Linear(o["hidden"], o["classes"]))

    def forward(self, x):
        x = self.features(x)
        # Adaptive pooling of one number gives it 49 times; ONNX export knows only the way down.
        x = x.expand(-1, -1, 7, 7) if x.shape[-1] == 1 else F.adaptive_avg_pool2d(x, 7)
        return self.classifier(x.flatten(1))


# ---- Segmentation ----


class DoubleConv(nn.Module):
    def __init__(self, channels, planes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes)

    def convolve(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))

    def forward(self, x):
        return self.convolve(x)


class UpConv(DoubleConv):
    def __init__(self, channels):
        super().__init__(2 * channels, channels)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)

    def forward(self, x, side):
        return self.convolve(torch.cat([side, self.up(x)], 1))


class Unet(nn.Module):
    def __init__(self, o):
        super().__init__()
        width, levels = o["width"], o["levels"]
        self.down = nn.ModuleList(DoubleConv(3 if l == 0 else width << (l - 1), width << l) for l in range(levels))
        self.bottom = DoubleConv(width << (levels - 1), width << levels)
        self.up = nn.ModuleList(UpConv(width << l) for l in range(levels))
        self.head = nn.Conv2d(width, o["classes"], 1)

    def forward(self, x):
        sides = []
        for level in self.down:
            sides.append(level(x))
            x = F.max_pool2d(sides[-1], 2)
        x = self.bottom(x)
        for level, side in zip(reversed(self.up), reversed(sides)):
            x = level(x, side)
        return self.head(x)


# ---- Vision transformer ----


class VitLayer(nn.Module):
    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = PackedSelfAttention(width, o["heads"])
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.ModuleDict({"0": nn.Linear(width, o["mlp"]), "3": nn.Linear(o["mlp"], width)})

    def forward(self, x):
        x = self.self_attention(self.ln_1(x)) + x
        return x + self.mlp["3"](F.gelu(self.mlp["0"](self.ln_2(x))))


class Vit(nn.Module):
    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.class_token = nn.Parameter(torch.randn(1, 1, width))
        self.conv_proj = nn.Conv2d(3, width, 16, 16)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.randn(1, (o["image"] // 16)**2 + 1, width))
        self.encoder.layers = nn.ModuleDict({f"encoder_layer_{i}": VitLayer(o) for i in range(o["layers"])})
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.ModuleDict({"head": nn.Linear(width, o["classes"])})

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        x = x + self.encoder.pos_embedding
        for layer in self.encoder.layers.values():
            x = layer(x)
        return self.heads["head"](self.encoder.ln(x)[:, 0])


# ---- GPT-2 ----


class Gpt2Layer(nn.Module):
    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.heads, self.ratio = o["heads"], o["dropout"]
        self.ln_1 = nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"c_attn": Conv1D(width, 3 * width), "c_proj": Conv1D(width, width)})
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict({"c_fc": Conv1D(width, 4 * width), "c_proj": Conv1D(4 * width, width)})

    def forward(self, x, mask):
        parts = self.attn["c_attn"](self.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (split_heads(part, self.heads) for part in parts)
        y = self.attn["c_proj"](attention(self, q, k, v, mask, self.ratio))
        x = dropout(self, y, self.ratio) + x
        y = self.mlp["c_proj"](gelu_tanh(self.mlp["c_fc"](self.ln_2(x))))
        return x + dropout(self, y, self.ratio)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


class Gpt2(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.seq, self.ratio = o["seq"], o["dropout"]
        self.register_buffer("mask", causal_mask(o["seq"]), persistent=False)
        self.transformer = nn.Module()
        self.transformer.wte = nn.Embedding(o["vocab"], o["width"])
        self.transformer.wpe = nn.Embedding(o["positions"], o["width"])
        self.transformer.h = nn.ModuleList(Gpt2Layer(o) for _ in range(o["layers"]))
        self.transformer.ln_f = nn.LayerNorm(o["width"])

    def forward(self, tokens):
        t = self.transformer
        x = dropout(self, t.wte(tokens) + t.wpe.weight[:self.seq], self.ratio)
        for layer in t.h:
            x = layer(x, self.mask)
        return F.linear(t.ln_f(x), t.wte.weight).flatten(0, 1)


class MiniGpt(nn.Module):
    """One layer's weights, used `layers` times."""

    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.times, self.scale = o["layers"], math.sqrt(width)
        self.register_buffer("mask", causal_mask(o["seq"]), persistent=False)
        self.embedding = nn.Embedding(o["vocab"], width)
        self.pos_encoder = nn.Module()
        self.pos_encoder.pe = nn.Parameter(torch.randn(1, o["seq"], width))
        layer = nn.Module()
        layer.self_attn = PackedSelfAttention(width, o["heads"])
        layer.linear1 = nn.Linear(width, o["ff"])
        layer.linear2 = nn.Linear(o["ff"], width)
        self.transformer = nn.Module()
        self.transformer.layers = nn.ModuleList([layer])
        self.fc_out = nn.Linear(width, o["vocab"])

    def forward(self, tokens):
        x = self.embedding(tokens) * self.scale + self.pos_encoder.pe
        layer = self.transformer.layers[0]
        for _ in range(self.times):
            x = x + layer.self_attn(x, self.mask)
            x = x + layer.linear2(F.relu(layer.linear1(x)))
        return self.fc_out(x).flatten(0, 1)


# ---- BERT ----


class BertOutput(nn.Module):
    def __init__(self, n_in, width, ratio):
        super().__init__()
        self.ratio = ratio
        self.dense = nn.Linear(n_in, width)
        self.LayerNorm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, start):
        return self.LayerNorm(dropout(self, self.dense(x), self.ratio) + start)


class BertLayer(nn.Module):
    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.heads, self.ratio = o["heads"], o["dropout"]
        self.attention = nn.Module()
        self.attention.self = nn.Module()
        for part in ("query", "key", "value"):
            setattr(self.attention.self, part, nn.Linear(width, width))
        self.attention.output = BertOutput(width, width, self.ratio)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, 4 * width)})
        self.output = BertOutput(4 * width, width, self.ratio)

    def forward(self, x):
        part = self.attention.self
        q, k, v = (split_heads(linear(x), self.heads) for linear in (part.query, part.key, part.value))
        x = self.attention.output(attention(self, q, k, v, None, self.ratio), x)
        return self.output(F.gelu(self.intermediate["dense"](x)), x)


class Bert(nn.Module):
    def __init__(self, o, pooler=True):
        super().__init__()
        width = o["width"]
        self.seq, self.ratio = o["seq"], o["dropout"]
        self.embeddings = nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(o["vocab"], width)
        self.embeddings.position_embeddings = nn.Embedding(o["positions"], width)
        self.embeddings.token_type_embeddings = nn.Embedding(2, width)
        self.embeddings.LayerNorm = nn.LayerNorm(width, eps=1e-12)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(BertLayer(o) for _ in range(o["layers"]))})
        if pooler:
            self.pooler = nn.ModuleDict({"dense": nn.Linear(width, width)})

    def hidden(self, tokens, types):
        e = self.embeddings
        x = e.word_embeddings(tokens) + e.token_type_embeddings(types) + e.position_embeddings.weight[:self.seq]
        x = dropout(self, e.LayerNorm(x), self.ratio)
        for layer in self.encoder["layer"]:
            x = layer(x)
        return x

    def forward(self, tokens, types):
        return torch.tanh(self.pooler["dense"](self.hidden(tokens, types)[:, 0]))


class BertWithHead(nn.Module):
    def __init__(self, o):
        super().__init__()
        width = o["width"]
        self.mlm, self.ratio = o["head"] == "mlm", o["dropout"]
        self.bert = Bert(o, pooler=not self.mlm)
        if self.mlm:
            predictions = nn.Module()
            predictions.bias = nn.Parameter(torch.zeros(o["vocab"]))
            predictions.transform = nn.ModuleDict({"dense": nn.Linear(width, width),
                                                   "LayerNorm": nn.LayerNorm(width, eps=1e-12)})
            self.cls = nn.ModuleDict({"predictions": predictions})
        else:
            self.classifier = nn.Linear(width, o["classes"])

    def forward(self, tokens, types):
        if not self.mlm:
            return self.classifier(dropout(self, self.bert(tokens, types), self.ratio))
        predictions = self.cls["predictions"]
        x = predictions.transform["dense"](self.bert.hidden(tokens, types))
        x = predictions.transform["LayerNorm"](F.gelu(x))
        return F.linear(x, self.bert.embeddings.word_embeddings.weight, predictions.bias).flatten(0, 1)


# ---- Llama ----


class RmsNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def rotary_tables(seq, head, base=10000.0):
    """cos and sin of position · base^(-2i/head), [seq, head], the angles repeated in both halves."""
    frequencies = base**(-torch.arange(0, head, 2, dtype=torch.float64) / head)
    angles = torch.arange(seq, dtype=torch.float64)[:, None] * torch.cat([frequencies, frequencies])
    dtype = torch.get_default_dtype()
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def repeat_heads(x, heads):
    batch, kv_heads, seq, head = x.shape
    if kv_heads == heads:
        return x
    return x[:, :, None].expand(batch, kv_heads, heads // kv_heads, seq, head).reshape(batch, heads, seq, head)


class LlamaLayer(nn.Module):
    def __init__(self, o):
        super().__init__()
        width, ff = o["width"], o["ff"]
        self.heads, self.kv_heads = o["heads"], o["kv_heads"]
        kv_width = width // self.heads * self.kv_heads

        def linears(**sizes):
            return nn.ModuleDict({k: nn.Linear(a, b, bias=False) for k, (a, b) in sizes.items()})

        self.input_layernorm = RmsNorm(width)
        self.self_attn = linears(q_proj=(width, width), k_proj=(width, kv_width), v_proj=(width, kv_width),
                                 o_proj=(width, width))
        self.post_attention_layernorm = RmsNorm(width)
        self.mlp = linears(gate_proj=(width, ff), up_proj=(width, ff), down_proj=(ff, width))

    def forward(self, x, cos, sin, mask):
        y = self.input_layernorm(x)
        q = split_heads(self.self_attn["q_proj"](y), self.heads)
        k = split_heads(self.self_attn["k_proj"](y), self.kv_heads)
        v = split_heads(self.self_attn["v_proj"](y), self.kv_heads)
        q = rotate(q, cos, sin)
        k = repeat_heads(rotate(k, cos, sin), self.heads)
        v = repeat_heads(v, self.heads)
        x = x + self.self_attn["o_proj"](attention(self, q, k, v, mask))
        y = self.post_attention_layernorm(x)
        y = F.silu(self.mlp["gate_proj"](y)) * self.mlp["up_proj"](y)
        return x + self.mlp["down_proj"](y)


class Llama(nn.Module):
    def __init__(self, o):
        super().__init__()
        cos, sin = rotary_tables(o["seq"], o["width"] // o["heads"])
        for name, table in (("cos", cos), ("sin", sin), ("mask", causal_mask(o["seq"]))):
            self.register_buffer(name, table, persistent=False)
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(o["vocab"], o["width"])
        self.model.layers = nn.ModuleList(LlamaLayer(o) for _ in range(o["layers"]))
        self.model.norm = RmsNorm(o["width"])
        self.lm_head = nn.Linear(o["width"], o["vocab"], bias=False)

    def forward(self, tokens):
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x, self.cos, self.sin, self.mask)
        return self.lm_head(self.model.norm(x)).flatten(0, 1)


# ---- Tables of parameters ----


def print_parameters(source, spec, model):
    print(f"# {source}: names and shapes of the parameters")
    print(spec)
    for name, parameter in sorted(model.named_parameters()):
        print(name, *parameter.shape)


# ---- Logits from numbers that C++ draws too ----


def mix(x):
    """The finaliser of SplitMix64, as in base/rng.h."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9e3779b97f4a7c15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    return x ^ (x >> np.uint64(31))


def uniform(name, shape):
    """Uniform in [0, 1): element i is random_uniform(1, stream, i), the stream being the name's bytes in base 31."""
    stream = 0
    for byte in name.encode():
        stream = (31 * stream + byte) % 2**64
    counter = np.arange(int(np.prod(shape)), dtype=np.uint64)
    bits = mix(mix(mix(np.uint64(1)) ^ np.uint64(stream)) ^ counter)
    return torch.from_numpy((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(tuple(shape))


def draw(name, shape):
    """The value of a weight or a running statistic."""
    u = uniform(name, shape)
    if name.endswith("running_var") or (len(shape) == 1 and not name.endswith(("bias", "running_mean"))):
        return u + 0.5
    if len(shape) == 1:
        return u - 0.5
    return (2 * u - 1) * math.sqrt(3 * shape[0] / u.numel())


LOGIT_SPECS = [
    "mlp:in=6,hidden=8,layers=2,classes=4",
    "resnet18:stem=cifar,norm=folded,image=8,classes=5,width=4",
    "resnet18:image=33,classes=5,width=4",
    "resnet18:norm=frozen,image=32,classes=5,width=4",
    "resnet50:norm=group,groups=2,image=32,classes=5,width=4",
    "vgg11:image=32,classes=5,width=4,hidden=10",
    "vgg11:image=224,classes=5,width=2,hidden=10",
    "unet:image=16,classes=3,width=4,levels=2",
    "mobilenet_v2:image=33,classes=5",
    "mobilenet_v3_small:image=33,classes=5",
    "vit_b_16:image=32,classes=5,layers=2,width=12,heads=3,mlp=20",
    "gpt2:seq=6,layers=2,width=12,heads=3,vocab=11,positions=9",
    "gpt2-mini:seq=6,layers=3,width=12,heads=3,ff=20,vocab=11",
    "bert-base:seq=6,layers=2,width=12,heads=3,vocab=11,positions=9",
    "bert-base:seq=6,layers=1,width=12,heads=3,vocab=11,head=classify,classes=3",
    "bert-base:seq=6,layers=1,width=12,heads=3,vocab=11,head=mlm",
    "llama2-7b:seq=6,layers=2,width=24,heads=4,kv_heads=2,ff=20,vocab=11",
]


def drawn_inputs(spec, batch):
    name, o = parse(spec)
    if name == "mlp":
        return (2 * uniform("input", (batch, o["in"])) - 1,)
    if "image" in o:
        return (2 * uniform("input", (batch, 3, o["image"], o["image"])) - 1,)
    tokens = {"input" if name == "gpt2-mini" else "input_ids": o["vocab"]}
    if name.startswith("bert"):
        tokens["token_type_ids"] = 2
    return tuple((uniform(key, (batch, o["seq"])) * count).long() for key, count in tokens.items())


def checksum(x):
    """A sum that notices where each number stands."""
    x = x.detach().flatten()
    return (x * torch.cos(torch.arange(x.numel(), dtype=torch.float64))).sum().item()


def print_logits(batch=2):
    torch.set_default_dtype(torch.float64)
    print(f"# torch {torch.__version__}, batch {batch}, weights, statistics and inputs as drawn by torch_models.py:")
    print("# spec, checksum of the logits, checksum of the new running statistics by name, first three logits")
    for spec in LOGIT_SPECS:
        model = make(spec).train()
        with torch.no_grad():
            for name, value in list(model.named_parameters()) + list(model.named_buffers()):
                if value.dtype == torch.float64 and name not in ("mask", "cos", "sin"):
                    value.copy_(draw(name, value.shape))
            logits = model(*drawn_inputs(spec, batch))
            frozen = "norm=frozen" in spec
            states = sorted((n, b) for n, b in model.named_buffers() if "running" in n and not frozen)
        print(spec, *(f"{v:.12g}" for v in [checksum(logits), sum(checksum(b) for _, b in states),
                                             *logits.flatten()[:3].tolist()]))


if __name__ == "__main__":
    if sys.argv[1] == "--logits":
        print_logits()
    elif sys.argv[1] == "--torchvision":
        import torchvision
        print_parameters(f"torchvision {torchvision.__version__}", sys.argv[2],
                         getattr(torchvision.models, sys.argv[2])())
    else:
        print_parameters("tests/oracle/torch_models.py", sys.argv[1], make(sys.argv[1]))
