"""The models of the timed iterations in plain PyTorch, with the shapes of this project's builtins (pcg/models). Each returns (module,
batch -> inputs); module(*inputs) is the loss."""

import torch
import torch.nn.functional as F
from torch import nn

import arithmetic


class SelfAttention(nn.Module):
    """Packed projections; attention itself unfused (scores stored, dropped out) or flash."""

    def __init__(self, hidden, heads, causal, dropout, flash):
        super().__init__()
        self.heads, self.causal, self.dropout, self.flash = heads, causal, dropout, flash
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        samples, sequence, hidden = x.shape
        q, k, v = self.qkv(x).view(samples, sequence, 3, self.heads, hidden // self.heads).permute(2, 0, 3, 1, 4)
        if self.flash:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=self.causal)
        else:
            scores = q @ k.transpose(-2, -1) * (hidden // self.heads) ** -0.5
            if self.causal:
                mask = torch.ones(sequence, sequence, dtype=torch.bool, device=x.device).triu(1)
                scores = scores.masked_fill(mask, float("-inf"))
            y = F.dropout(scores.softmax(-1), self.dropout, self.training) @ v
        return self.drop(self.out(y.transpose(1, 2).reshape(samples, sequence, hidden)))


class Layer(nn.Module):
    def __init__(self, hidden, heads, causal, dropout, flash, post_norm):
        super().__init__()
        self.attention = SelfAttention(hidden, heads, causal, dropout, flash)
        self.mlp = nn.Sequential(nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden), nn.Dropout(dropout))
        self.norm1, self.norm2, self.post_norm = nn.LayerNorm(hidden), nn.LayerNorm(hidden), post_norm

    def forward(self, x):
        if self.post_norm:
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.mlp(x))
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Bert(nn.Module):
    def __init__(self, flash, layers=24, hidden=1024, heads=16, vocabulary=30522, sequence=512):
        super().__init__()
        self.token, self.position, self.kind = nn.Embedding(vocabulary, hidden), nn.Parameter(torch.zeros(sequence, hidden)), nn.Embedding(2, hidden)
        self.norm, self.drop = nn.LayerNorm(hidden), nn.Dropout(0.1)
        self.layers = nn.Sequential(*(Layer(hidden, heads, False, 0.1, flash, True) for _ in range(layers)))
        self.pooler, self.next_sentence = nn.Linear(hidden, hidden), nn.Linear(hidden, 2)
        self.transform = nn.Sequential(nn.Linear(hidden, hidden), nn.GELU(), nn.LayerNorm(hidden))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens, kinds, labels, next_labels):
        x = self.layers(self.drop(self.norm(self.token(tokens) + self.position + self.kind(kinds))))
        next_loss = F.cross_entropy(self.next_sentence(torch.tanh(self.pooler(x[:, 0]))).float(), next_labels)
        logits = F.linear(self.transform(x), self.token.weight, self.bias)
        return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten()) + next_loss


class Gpt(nn.Module):
    def __init__(self, flash, layers=24, hidden=1024, heads=16, vocabulary=51200, sequence=1024):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, hidden), nn.Parameter(torch.zeros(sequence, hidden))
        self.drop = nn.Dropout(0.1)
        self.layers = nn.Sequential(*(Layer(hidden, heads, True, 0.1, flash, False) for _ in range(layers)))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, tokens, labels):
        x = self.norm(self.layers(self.drop(self.token(tokens) + self.position)))
        return F.cross_entropy(F.linear(x, self.token.weight).flatten(0, 1).float(), labels.flatten())


class RotaryAttention(nn.Module):
    """Grouped queries, rotated in fp32 as complex numbers; fused attention by the library named."""

    def __init__(self, hidden, heads, kv_heads, library, biases):
        super().__init__()
        self.heads, self.kv_heads, self.dim, self.library = heads, kv_heads, hidden // heads, library
        self.q, self.k = nn.Linear(hidden, hidden, bias=biases), nn.Linear(hidden, kv_heads * self.dim, bias=biases)
        self.v, self.out = nn.Linear(hidden, kv_heads * self.dim, bias=biases), nn.Linear(hidden, hidden, bias=biases)

    @staticmethod
    def rotate(x, turns):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(z * turns).flatten(3).type_as(x)

    def forward(self, x, turns):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        samples, sequence, _ = x.shape
        q, k = self.q(x).view(samples, sequence, self.heads, self.dim), self.k(x).view(samples, sequence, self.kv_heads, self.dim)
        v = self.v(x).view(samples, sequence, self.kv_heads, self.dim)
        if turns is not None:
            q, k = self.rotate(q, turns), self.rotate(k, turns)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION if self.library == "cudnn" else SDPBackend.FLASH_ATTENTION):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        return self.out(y.transpose(1, 2).reshape(samples, sequence, -1))


class GatedMlp(nn.Module):
    def __init__(self, hidden, ffn):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(hidden, ffn, bias=False), nn.Linear(hidden, ffn, bias=False), nn.Linear(ffn, hidden, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class DecoderLayer(nn.Module):
    def __init__(self, c, library, recompute):
        super().__init__()
        self.recompute = recompute
        norm = (lambda: nn.RMSNorm(c["hidden"])) if c["rms_norm"] else (lambda: nn.LayerNorm(c["hidden"], bias=c["biases"]))
        self.norm1, self.norm2 = norm(), norm()
        self.attention = RotaryAttention(c["hidden"], c["heads"], c["kv_heads"], library, c["biases"])
        if c.get("experts"):
            self.mlp = Experts(c["hidden"], c["ffn"], c["experts"], c["top_k"])
        elif c["gated"]:
            self.mlp = GatedMlp(c["hidden"], c["ffn"])
        else:
            self.mlp = nn.Sequential(nn.Linear(c["hidden"], c["ffn"], bias=c["biases"]), nn.GELU(), nn.Linear(c["ffn"], c["hidden"], bias=c["biases"]))

    def run(self, x, turns):
        x = x + self.attention(self.norm1(x), turns)
        return x + self.mlp(self.norm2(x))

    def forward(self, x, turns):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(self.run, x, turns, use_reentrant=False) if self.recompute else self.run(x, turns)


class Fp8Product(torch.autograd.Function):
    """A linear layer's three products in fp8 as PyTorch's own recipe has them (torchao, float8 training): each tensor scaled by its own largest
    value and cast in each pass, gradients in e5m2, whose products add up in fp32."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return product_fp8(cast_fp8(x, torch.float8_e4m3fn), transposed_fp8(cast_fp8(weight, torch.float8_e4m3fn)), True)

    @staticmethod
    def backward(ctx, dy):
        x, weight = (cast_fp8(t, torch.float8_e4m3fn) for t in ctx.saved_tensors)
        dy = cast_fp8(dy, torch.float8_e5m2)
        return product_fp8(dy, weight, False), product_fp8(transposed_fp8(dy), x, False)


def cast_fp8(x, kind):
    """(x in `kind`, what undoes its scale)"""
    largest = torch.finfo(kind).max
    scale = largest / x.abs().max().float().clamp(min=1e-12)
    return (x.float() * scale).clamp(-largest, largest).to(kind), scale.reciprocal()


def transposed_fp8(x):
    return x[0].t(), x[1]


def product_fp8(a, b, fast):
    """Hopper's tensor cores read fp8 along the rows of a and the columns of b alone, so that some operands are copied."""
    return torch._scaled_mm(a[0].contiguous(), b[0].t().contiguous().t(), scale_a=a[1], scale_b=b[1], out_dtype=torch.bfloat16, use_fast_accum=fast)


class Fp8Linear(nn.Linear):
    def forward(self, x):
        return Fp8Product.apply(x.flatten(0, -2), self.weight).unflatten(0, x.shape[:-1])


def multiply_in_fp8(module):
    """Every linear layer inside of `module`, which has no bias, multiplies in fp8."""
    for m in module.modules():
        if isinstance(m, nn.Linear):
            m.__class__ = Fp8Linear


class Experts(nn.Module):
    """Gated MLPs of which a token has `top_k`; tokens in the order of their experts are multiplied by one grouped kernel."""

    def __init__(self, hidden, ffn, experts, top_k):
        super().__init__()
        self.top_k, self.experts = top_k, experts
        self.router = nn.Linear(hidden, experts, bias=False)
        self.gate, self.up = (nn.Parameter(0.02 * torch.randn(experts, ffn, hidden)) for _ in range(2))
        self.down = nn.Parameter(0.02 * torch.randn(experts, hidden, ffn))

    def forward(self, x):
        tokens = x.flatten(0, -2)
        shares, chosen = self.router(tokens).float().softmax(-1).topk(self.top_k, -1)
        expert, order = chosen.flatten().sort(stable=True)
        # bincount would wait for the device.
        ends = torch.searchsorted(expert, torch.arange(self.experts, device=x.device), right=True).int()
        rows = order // self.top_k
        y = tokens.index_select(0, rows)
        y = grouped(F.silu(grouped(y, self.gate, ends)) * grouped(y, self.up, ends), self.down, ends)
        y = y * shares.flatten().index_select(0, order).type_as(y).unsqueeze(-1)
        return torch.zeros_like(tokens).index_add(0, rows, y).view_as(x)


def grouped(x, weight, ends):
    return torch._grouped_mm(x, weight.transpose(-2, -1), offs=ends)


class Decoder(nn.Module):
    """A language model of today, c: the keys of a scenario's model.transformer."""

    cross_entropy = staticmethod(F.cross_entropy)

    def __init__(self, c, library, recompute):
        super().__init__()
        self.token = nn.Embedding(c["vocabulary"], c["hidden"])
        self.position = None if c["rope"] else nn.Embedding(c["sequence"], c["hidden"])
        self.layers = nn.ModuleList(DecoderLayer(c, library, recompute) for _ in range(c["layers"]))
        self.norm = nn.RMSNorm(c["hidden"]) if c["rms_norm"] else nn.LayerNorm(c["hidden"], bias=c["biases"])
        self.head = None if c["tied_embeddings"] else nn.Linear(c["hidden"], c["vocabulary"], bias=False)
        half, at = c["hidden"] // c["heads"] // 2, torch.arange(c["sequence"]).float()
        angles = torch.outer(at, 5e5 ** (-torch.arange(half).float() / half)).unsqueeze(1)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles) if c["rope"] else None, persistent=False)

    def embed(self, tokens):
        x = self.token(tokens)
        return x if self.position is None else x + self.position(torch.arange(tokens.shape[1], device=tokens.device))

    def run_layers(self, x):
        for layer in self.layers:
            x = layer(x, self.turns)
        return x

    def loss(self, x, labels):
        x = self.norm(x)
        logits = self.head(x) if self.head is not None else F.linear(x, self.token.weight)
        return self.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())

    def forward(self, tokens, labels):
        return self.loss(self.run_layers(self.embed(tokens)), labels)


class Vit(nn.Module):
    """ViT-H/14 on images of 224 x 224, attention unfused."""

    def __init__(self, layers=32, hidden=1280, heads=16, patch=14, tokens=257):
        super().__init__()
        self.patch, self.kind = nn.Conv2d(3, hidden, patch, patch), nn.Parameter(torch.zeros(1, 1, hidden))
        self.position = nn.Parameter(torch.zeros(tokens, hidden))
        self.layers = nn.Sequential(*(Layer(hidden, heads, False, 0.0, False, False) for _ in range(layers)))
        self.norm, self.classifier = nn.LayerNorm(hidden), nn.Linear(hidden, 1000)

    def forward(self, images, labels):
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = self.layers(torch.cat((self.kind.expand(len(x), -1, -1), x), 1) + self.position)
        return F.cross_entropy(self.classifier(self.norm(x)[:, 0]).float(), labels)


class Conv(nn.Module):
    """Convolution and batch norm, and a relu but before a sum."""

    def __init__(self, entry, out, size, stride=1, pad=0, groups=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(entry, out, size, stride, pad, groups=groups, bias=False)
        self.norm, self.relu = nn.BatchNorm2d(out), relu

    def forward(self, x):
        x = self.norm(self.conv(x))
        return F.relu(x) if self.relu else x


class Bottleneck(nn.Module):
    def __init__(self, entry, width, out, stride):
        super().__init__()
        self.body = nn.Sequential(Conv(entry, width, 1), Conv(width, width, 3, stride, 1, 32), Conv(width, out, 1, relu=False))
        self.shortcut = nn.Identity() if stride == 1 and entry == out else Conv(entry, out, 1, stride, relu=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


class Images(nn.Module):
    """Features, mean over the plane, a dense layer, the loss."""

    def __init__(self, features, channels, dropout):
        super().__init__()
        self.features, self.drop, self.classifier = features, nn.Dropout(dropout) if dropout else nn.Identity(), nn.Linear(channels, 1000)

    def forward(self, images, labels):
        x = self.features(images).mean((2, 3))
        return F.cross_entropy(self.classifier(self.drop(x)).float(), labels)


def resnext_50():
    blocks, entry = [Conv(3, 64, 7, 2, 3), nn.MaxPool2d(3, 2, 1)], 64
    for stage, i in ((s, i) for s, depth in enumerate((3, 4, 6, 3)) for i in range(depth)):
        blocks.append(Bottleneck(entry, 128 << stage, 256 << stage, 2 if stage and not i else 1))
        entry = 256 << stage
    return Images(nn.Sequential(*blocks), 2048, 0)


class Branches(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([b(x) for b in self.branches], 1)


def chain(entry, *convolutions):
    """(out, size, stride, pad) one after the other."""
    entries = [entry, *(out for out, *_ in convolutions)]
    return nn.Sequential(*(Conv(e, *c) for e, c in zip(entries, convolutions)))


def pooled(entry, out):
    return nn.Sequential(nn.AvgPool2d(3, 1, 1), Conv(entry, out, 1))


ROW, COLUMN, ONE = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0)), (1, 1, 0)


def inception_a(entry, pool):
    return Branches(chain(entry, (64, *ONE)), chain(entry, (48, *ONE), (64, 5, 1, 2)),
                    chain(entry, (64, *ONE), (96, 3, 1, 1), (96, 3, 1, 1)), pooled(entry, pool))


def inception_b(entry):
    return Branches(chain(entry, (384, 3, 2, 0)), chain(entry, (64, *ONE), (96, 3, 1, 1), (96, 3, 2, 0)), nn.MaxPool2d(3, 2))


def inception_c(entry, width):
    return Branches(chain(entry, (192, *ONE)), chain(entry, (width, *ONE), (width, *ROW), (192, *COLUMN)),
                    chain(entry, (width, *ONE), (width, *COLUMN), (width, *ROW), (width, *COLUMN), (192, *ROW)), pooled(entry, 192))


def inception_d(entry):
    return Branches(chain(entry, (192, *ONE), (320, 3, 2, 0)), chain(entry, (192, *ONE), (192, *ROW), (192, *COLUMN), (192, 3, 2, 0)),
                    nn.MaxPool2d(3, 2))


def spread():
    return Branches(Conv(384, 384, (1, 3), 1, (0, 1)), Conv(384, 384, (3, 1), 1, (1, 0)))


def inception_e(entry):
    return Branches(chain(entry, (320, *ONE)), nn.Sequential(Conv(entry, 384, 1), spread()),
                    nn.Sequential(Conv(entry, 448, 1), Conv(448, 384, 3, 1, 1), spread()), pooled(entry, 192))


def inception_v3():
    parts = [chain(3, (32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1)), nn.MaxPool2d(3, 2), chain(64, (80, *ONE), (192, 3, 1, 0)), nn.MaxPool2d(3, 2)]
    parts += [inception_a(192, 32), inception_a(256, 64), inception_a(288, 64), inception_b(288)]
    parts += [inception_c(768, width) for width in (128, 160, 160, 192)]
    parts += [inception_d(768), inception_e(1280), inception_e(2048)]
    return Images(nn.Sequential(*parts), 2048, 0.5)


def dense(entry, out, activation):
    return nn.Sequential(nn.Linear(entry, out, bias=False), activation)


class Dlrm(nn.Module):
    """Eight tables of a million rows of 256, eight dense layers below, four above."""

    def __init__(self, rows=1_000_000):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, 256, mode="sum") for _ in range(8))
        self.bottom = nn.Sequential(*(dense(1024, 1024, nn.ReLU()) for _ in range(8)))
        self.top = nn.Sequential(*(dense(3072 if i == 0 else 1024, 1024, nn.ReLU() if i < 3 else nn.Sigmoid()) for i in range(4)))

    def forward(self, sparse, features, targets):
        parts = [table(index) for table, index in zip(self.tables, sparse)]
        y = self.top(torch.cat([*parts, self.bottom(features)], 1))
        return F.mse_loss(y.float(), targets)


class Mlp(nn.Module):
    """Two towers of eight layers of 8192, added."""

    def __init__(self):
        super().__init__()
        def tower():
            return nn.Sequential(*(dense(1024 if i == 0 else 8192, 8192, nn.ReLU() if i < 7 else nn.Identity()) for i in range(8)))
        self.left, self.right = tower(), tower()

    def forward(self, left, right, labels):
        return F.cross_entropy((self.left(left) + self.right(right)).float(), labels)


def parameters_of(module):
    return sum(p.numel() for p in module.parameters())


def build(name, attention, device):
    """(module on the device, function from a batch to its inputs)."""
    flash = attention == "flash"
    def index(below, *sizes):
        return torch.randint(below, sizes, device=device)
    def real(*sizes):
        return torch.randn(*sizes, device=device)
    def images(size):
        return lambda b: (real(b, 3, size, size), index(1000, b))
    makers = {
        "bert-large": (lambda: Bert(flash), lambda b: (index(30522, b, 512), index(2, b, 512), index(30522, b, 512), index(2, b))),
        "gpt3-350m": (lambda: Gpt(flash), lambda b: (index(51200, b, 1024), index(51200, b, 1024))),
        "resnext-50": (resnext_50, images(224)),
        "inception-v3": (inception_v3, images(299)),
        "dlrm": (Dlrm, lambda b: ([index(1_000_000, b, 1) for _ in range(8)], real(b, 1024), torch.rand(b, 1024, device=device))),
        "mlp": (Mlp, lambda b: (real(b, 1024), real(b, 1024), index(8192, b))),
    }
    make, inputs = makers[name]
    with torch.device(device):
        module = make()
    return module, inputs


def build_decoder(shape, options, device):
    """(module on the device, function from a batch to its inputs) of a decoder, or of vit-huge. options: those of arithmetic.DECODERS."""
    c = arithmetic.transformer_of(options)
    with torch.device(device):
        module = Decoder(c, options["attention"], options["recompute"]) if c else Vit(options["layers"])
    if options["precision"] == "fp8":
        multiply_in_fp8(module.layers)
    if options["compiled"]:
        for layer in module.layers:
            layer.compile()
    if not c:
        return module, lambda b: (torch.randn(b, 3, 224, 224, device=device), torch.randint(1000, (b,), device=device))
    return module, lambda b: tuple(torch.randint(c["vocabulary"], (b, c["sequence"]), device=device) for _ in range(2))


def shard(module):
    """FSDP2 over this one GPU, or all ranks: weights cast to bf16 as they are gathered, gradients reduced in fp32."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    if not dist.is_initialized():
        torch.cuda.set_device(0)
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in module.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(module, mesh=mesh, mp_policy=policy)
