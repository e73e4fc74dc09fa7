"""Which of PyTorch's operations are timed, and how each is built. Only builders need PyTorch.

A case: `operation`, `kind` (a kernel kind of Foreshard), `how`, `precision`, `shape` (names and sizes), `batch`, `m`, `n`, `k` of a product
or of attention (else 1, 0, 0, 0), `flops` and `bytes` of the forward pass as pcg/work counts them, `backward` (whether there is such a pass) with
`backward_flops` and `backward_bytes`. A builder returns (run, the tensors whose gradients the backward pass makes).

`how`: fused (one kernel of PyTorch's made for it), plain (a product), cudnn (attention by cuDNN), compiled (torch.compile); these are what
tuned frameworks run, and `foreshard import` makes measurements of them. Others tell of what eager ones run."""

HALF = 2  # bytes of a number in half precision


def case(operation, kind, how, build, shape, nbytes, flops=0.0, backward=None, precision="bf16", sizes=(1, 0, 0, 0)):
    """backward: None, or (bytes, FLOPs)."""
    back_bytes, back_flops = backward or (0.0, 0.0)
    return {"operation": operation, "kind": kind, "how": how, "build": build, "precision": precision, "shape": shape, **dict(zip(("batch", "m", "n", "k"), sizes)), "bytes": float(nbytes),
            "flops": float(flops), "backward": backward is not None, "backward_bytes": float(back_bytes), "backward_flops": float(back_flops)}


ROWS = ((8192, 4096), (16384, 2048), (8192, 8192), (4096, 12288), (2048, 5120), (4096, 1024))


def rows_cases():
    cases = []
    for t, h in ROWS:
        n, shape = t * h, {"rows": t, "width": h}
        e = n * HALF
        cases += [
            case("layer_norm", "norm", "fused", "layer_norm", shape, 2 * e, 7 * n, (5 * e, 14 * n)),
            case("rms_norm", "norm", "fused", "rms_norm", shape, 2 * e, 4 * n, (5 * e, 11 * n)),
            case("rms_norm", "norm", "eager", "rms_norm_eager", shape, 2 * e, 4 * n, (5 * e, 11 * n)),
            case("gelu", "elementwise", "fused", "gelu", shape, 2 * e, 8 * n, (3 * e, 9 * n)),
            case("swiglu", "elementwise", "eager", "swiglu", shape, 3 * e, 5 * n, (5 * e, 10 * n)),
            case("add", "elementwise", "fused", "add", shape, 3 * e, n),
            case("dropout", "elementwise", "fused", "dropout", shape, 2 * e + n, 2 * n, (2 * e + n, 2 * n)),
            case("bias_add", "elementwise", "eager", "bias_add", shape, 2 * e, n),
            case("column_sum", "reduction", "fused", "column_sum", shape, e, n),
            case("copy", "copy", "fused", "clone", shape, 2 * e),
            case("transpose", "copy", "eager", "transpose", shape, 2 * e),
            case("concat", "copy", "fused", "concat", shape, 4 * e),
            case("to_fp32", "elementwise", "eager", "to_fp32", shape, 3 * e),
            case("from_fp32", "elementwise", "fused", "from_fp32", shape, 3 * e),
            case("to_fp8", "elementwise", "fused", "to_fp8", shape, 1.5 * e),
            case("largest", "reduction", "eager", "largest", shape, e),
            case("fill", "copy", "eager", "fill", shape, e),
        ]
    for t, heads, d in ((8192, 32, 128), (8192, 64, 128), (4096, 16, 64)):
        e = t * heads * d * HALF
        shape = {"tokens": t, "heads": heads, "head_dim": d}
        cases.append(case("rotate", "elementwise", "eager", "rotate", shape, 2 * e, 3 * t * heads * d, (2 * e, 3 * t * heads * d)))
        cases.append(case("transpose_heads", "copy", "eager", "transpose_heads", shape, 2 * e))
    for samples, heads, s in ((4, 16, 2048), (8, 16, 1024), (1, 32, 4096)):
        e = samples * heads * s * s * HALF
        cases.append(case("softmax", "softmax", "fused", "softmax", {"samples": samples, "heads": heads, "keys": s}, 2 * e, 5 * e / HALF, (3 * e, 4 * e / HALF)))
    for t, v in ((8192, 32000), (4096, 50304), (4096, 128256)):
        e = t * v * HALF
        for how in ("eager", "float"):
            cases.append(case("cross_entropy", "loss", how, "cross_entropy_" + how, {"tokens": t, "classes": v}, e, 5 * t * v, (3 * e, 2 * t * v)))
    for t, h, v in ((8192, 4096, 32000), (8192, 4096, 128256), (16384, 2048, 50304), (4096, 8192, 128256)):
        e = t * h * HALF
        cases.append(case("embedding", "embedding", "eager", "embedding", {"tokens": t, "width": h, "rows": v}, 2 * e + 8 * t, 0, (3 * e + 8 * t, t * h)))
    return cases


def optimizer_cases():
    cases = []
    for count, width in ((16, 4096), (4, 8192), (64, 1024)):
        n = count * width * width
        shape = {"tensors": count, "rows": width, "width": width}
        for how in ("fused", "foreach"):
            cases.append(case("adam", "optimizer", how, "adam", shape, 28 * n, 12 * n, precision="fp32"))
        cases.append(case("gradient_norm", "reduction", "foreach", "gradient_norm", shape, 4 * n, 2 * n, precision="fp32"))
        cases.append(case("accumulate", "elementwise", "eager", "accumulate", shape, 10 * n, n, precision="fp32"))
    return cases


def expert_cases():
    cases = []
    for t, h, top, experts in ((8192, 4096, 2, 8), (8192, 2048, 8, 128), (4096, 7168, 8, 64), (16384, 2880, 4, 32)):
        e = t * h * HALF
        shape = {"tokens": t, "width": h, "top": top, "experts": experts}
        cases += [
            case("moe_dispatch", "permutation", "gather", "dispatch", shape, (1 + top) * e, 0, ((1 + top) * e, t * h * top)),
            case("moe_combine", "permutation", "index_add", "combine_add", shape, (1 + top) * e, 2 * top * t * h),
            case("moe_combine", "permutation", "gather", "combine_gather", shape, (1 + top) * e, 2 * top * t * h, ((1 + top) * e, top * t * h)),
            case("router", "softmax", "eager", "router", {"tokens": t, "top": top, "experts": experts}, 8 * t * experts, 5 * t * experts),
            case("sort_tokens", "permutation", "eager", "sort_tokens", shape, 16 * t * top),
        ]
    return cases


def grouped_cases():
    cases = []
    for experts, m, k, n in ((8, 16384, 4096, 28672), (8, 16384, 14336, 4096), (128, 65536, 2048, 1536), (128, 65536, 768, 2048), (16, 65536, 2048, 1536),
                             (32, 32768, 7168, 4096), (32, 32768, 2048, 7168), (8, 8192, 7168, 4096), (64, 16384, 2048, 2816), (16, 16384, 5120, 16384)):
        for skewed in (False, True):
            shape = {"experts": experts, "rows": m, "inner": k, "columns": n, "skewed": skewed}
            sizes = (experts, m // experts, n, k)
            nbytes = HALF * (m * k + experts * k * n + m * n)
            cases.append(case("expert_linear.forward", "matmul", "grouped", "grouped", shape, nbytes, 2.0 * m * k * n, sizes=sizes))
            cases.append(case("expert_linear.forward", "matmul", "streams", "grouped_streams", shape, nbytes, 2.0 * m * k * n, sizes=sizes))
            if not skewed:
                cases.append(case("expert_linear.weight_gradient", "matmul", "grouped", "grouped_weight", shape, nbytes, 2.0 * m * k * n, sizes=sizes))
                cases.append(case("expert_linear.input_gradient", "matmul", "grouped", "grouped_input", shape, nbytes, 2.0 * m * k * n, sizes=sizes))
    return cases


PRODUCTS = ((8192, 8192, 8192), (8192, 28672, 8192), (8192, 8192, 28672), (8192, 10240, 8192), (8192, 6144, 4096), (8192, 28672, 4096), (8192, 4096, 14336),
            (4096, 49152, 12288), (4096, 4096, 4096), (2048, 8192, 5120), (16384, 4096, 4096), (2048, 6144, 12288))


def product_cases():
    cases = []
    for m, n, k in PRODUCTS:
        shape, flops = {"m": m, "n": n, "k": k}, 2.0 * m * n * k
        low = m * k + k * n + HALF * m * n
        for how in ("fast", "split", "e5m2", "rows"):
            cases.append(case("linear", "matmul", how, "scaled_" + how, shape, low, flops, precision="fp8", sizes=(1, m, n, k)))
        half = HALF * (m * k + k * n + m * n)
        cases.append(case("linear", "matmul", "plain", "product", shape, half, flops, sizes=(1, m, n, k)))
        cases.append(case("linear", "matmul", "to_fp32", "product_fp32", shape, half + 2 * m * n, flops, sizes=(1, m, n, k)))
        cases.append(case("linear", "matmul", "add_fp32", "product_add", shape, half + 6 * m * n, flops, sizes=(1, m, n, k)))
    return cases


def attention_bytes(b, hq, hkv, s, dqk, dv, backward):
    forward = HALF * b * s * (hq * dqk + hkv * (dqk + dv) + hq * dv)
    return 2.0 * forward if backward else float(forward)


ATTENTIONS = ((2, 32, 8, 4096, 128, 128), (1, 32, 8, 8192, 128, 128), (1, 64, 8, 8192, 128, 128), (1, 64, 8, 4096, 128, 128), (4, 16, 16, 2048, 128, 128),
              (4, 32, 32, 2048, 128, 128), (8, 16, 16, 1024, 64, 64), (4, 16, 16, 2048, 64, 64), (1, 64, 8, 4096, 64, 64), (1, 8, 1, 8192, 128, 128), (1, 16, 2, 8192, 128, 128),
              (2, 4, 1, 4096, 128, 128), (1, 12, 12, 2048, 128, 128), (1, 24, 24, 2048, 128, 128), (1, 4, 4, 32768, 128, 128), (1, 16, 2, 16384, 128, 128), (1, 32, 4, 4096, 128, 128),
              (2, 40, 40, 4096, 128, 128), (16, 16, 16, 512, 64, 64), (1, 128, 128, 4096, 192, 128), (1, 16, 16, 4096, 192, 128), (1, 10, 10, 8192, 128, 128),
              (2, 32, 32, 4096, 128, 128), (8, 32, 8, 2048, 128, 128), (1, 8, 8, 2048, 128, 128), (1, 2, 1, 8192, 128, 128))


def attention_cases():
    cases = []
    for b, hq, hkv, s, dqk, dv in ATTENTIONS:
        for how in ("cudnn", "flash"):
            if how == "flash" and dqk != dv:
                continue
            for causal in (True, False):
                if not causal and (hq, s) not in ((32, 4096), (16, 2048), (16, 512)):
                    continue
                pairs = float(b) * hq * s * s / (2 if causal else 1)
                shape = {"samples": b, "heads": hq, "key_heads": hkv, "sequence": s, "query_dim": dqk, "value_dim": dv, "causal": causal}
                cases.append(case("attention", "attention", how, "attention", shape, attention_bytes(b, hq, hkv, s, dqk, dv, False), 2 * pairs * (dqk + dv),
                                  (attention_bytes(b, hq, hkv, s, dqk, dv, True), 2 * pairs * (3 * dqk + 2 * dv)), sizes=(b * hq, s, s, (dqk + dv) // 2)))
    return cases


def compiled_cases():
    cases = []
    t, h = 8192, 4096
    n = t * h
    e = n * HALF
    shape = {"rows": t, "width": h}
    cases.append(case("rms_norm", "norm", "compiled", "rms_norm_compiled", shape, 2 * e, 4 * n, (5 * e, 11 * n)))
    cases.append(case("swiglu", "elementwise", "compiled", "swiglu_compiled", {"rows": t, "width": 14336}, 3 * e * 3.5, 5 * n * 3.5, (5 * e * 3.5, 10 * n * 3.5)))
    cases.append(case("rotate", "elementwise", "compiled", "rotate_compiled", {"tokens": t, "heads": 32, "head_dim": 128}, 2 * e, 3 * n, (2 * e, 3 * n)))
    cases.append(case("bias_gelu", "elementwise", "compiled", "bias_gelu_compiled", {"rows": t, "width": 16384}, 8 * e, 9 * 4 * n, (12 * e, 40 * n)))
    cases.append(case("bias_dropout_add", "elementwise", "compiled", "bias_dropout_add_compiled", shape, 3 * e + n, 4 * n, (2 * e + n, 4 * n)))
    cases.append(case("to_fp8", "elementwise", "compiled", "cast_compiled", shape, 1.5 * e, 3 * n))
    cases.append(case("largest", "reduction", "compiled", "largest_compiled", shape, e, n))
    v = 32000
    cases.append(case("cross_entropy", "loss", "compiled", "cross_entropy_compiled", {"tokens": t, "classes": v}, t * v * HALF, 5 * t * v, (3 * t * v * HALF, 2 * t * v)))
    return cases


def cases():
    """In rounds: whatever time there is covers every kind."""
    groups = [attention_cases(), product_cases(), rows_cases(), grouped_cases(), expert_cases(), optimizer_cases()]
    total, mixed = max(len(g) for g in groups), []
    for i in range(total):
        for g in groups:
            # Each group is spread evenly over the rounds.
            mixed += g[i * len(g) // total:(i + 1) * len(g) // total]
    return mixed + compiled_cases()


def sustained_cases():
    m = 8192
    shape, flops = {"m": m, "n": m, "k": m}, 2.0 * m ** 3
    layer = {"tokens": 8192, "hidden": 8192, "ffn": 28672}
    layer_flops = 2.0 * 8192 * (8192 * 10240 + 8192 * 8192 + 3 * 8192 * 28672)
    return [
        case("linear", "matmul", "plain", "product", shape, HALF * 3 * m * m, flops, sizes=(1, m, m, m)),
        case("linear", "matmul", "fast", "scaled_fast", shape, 4 * m * m, flops, precision="fp8"),
        case("layer", "matmul", "plain", "layer_products", layer, 0, layer_flops),
        case("layer", "matmul", "fast", "layer_products_fp8", layer, 0, layer_flops, precision="fp8"),
        case("layer", "matmul", "small", "layer_products_small", {"tokens": 2048, "hidden": 4096, "ffn": 14336}, 0, 2.0 * 2048 * (4096 * 6144 + 4096 * 4096 + 3 * 4096 * 14336)),
        case("attention", "attention", "cudnn", "attention", {"samples": 1, "heads": 64, "key_heads": 8, "sequence": 8192, "query_dim": 128, "value_dim": 128, "causal": True}, 0,
             2.0 * 64 * 8192 ** 2 * 128),
        case("add", "elementwise", "fused", "add", {"rows": 8192, "width": 8192}, 6 * m * m, m * m),
    ]


# --- builders -----------------------------------------------------------------------------------------------------------


def real(torch, *sizes, grad=True, dtype=None):
    return torch.randn(*sizes, device="cuda", dtype=dtype or torch.bfloat16).requires_grad_(grad)


def of_rows(function, needs=1):
    """A builder of an operation on `needs` tensors of rows x width."""
    def build(torch, c):
        tensors = [real(torch, c["shape"]["rows"], c["shape"]["width"], grad=c["backward"]) for _ in range(needs)]
        return (lambda: function(torch, *tensors)), tensors
    return build


def weighted_norm(function, bias):
    def build(torch, c):
        h = c["shape"]["width"]
        x, w = real(torch, c["shape"]["rows"], h), real(torch, h)
        inputs = [x, w, real(torch, h)] if bias else [x, w]
        return (lambda: function(torch, *inputs)), inputs
    return build


def rms_by_hand(torch, x, w):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * w


def swiglu(torch, a, b):
    return torch.nn.functional.silu(a) * b


def rotation(torch, x, frequencies):
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(z * frequencies).flatten(3).type_as(x)


def rotation_halves(torch, x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def rotate(torch, c):
    t, heads, d = (c["shape"][k] for k in ("tokens", "heads", "head_dim"))
    x = real(torch, 1, t, heads, d)
    angles = torch.randn(t, 1, d // 2, device="cuda")
    frequencies = torch.polar(torch.ones_like(angles), angles)
    return (lambda: rotation(torch, x, frequencies)), [x]


def rotate_compiled(torch, c):
    t, heads, d = (c["shape"][k] for k in ("tokens", "heads", "head_dim"))
    x = real(torch, 1, t, heads, d)
    cos, sin = (torch.randn(t, 1, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    f = torch.compile(lambda x, cos, sin: rotation_halves(torch, x, cos, sin))
    return (lambda: f(x, cos, sin)), [x]


def transpose_heads(torch, c):
    x = real(torch, 1, c["shape"]["tokens"], c["shape"]["heads"], c["shape"]["head_dim"], grad=False)
    return (lambda: x.transpose(1, 2).contiguous()), [x]


def compiled(function, needs, widths=None):
    """One compiled function for all sets of operands; `widths`: of tensors that have one row."""
    made = {}

    def build(torch, c):
        if "f" not in made:
            made["f"] = torch.compile(lambda *x: function(torch, *x))
        t, h = c["shape"]["rows"], c["shape"]["width"]
        tensors = [real(torch, h) if widths and widths[i] else real(torch, t, h) for i in range(needs)]
        return (lambda: made["f"](*tensors)), tensors
    return build


def softmax(torch, c):
    s = c["shape"]
    x = real(torch, s["samples"], s["heads"], s["keys"], s["keys"])
    return (lambda: torch.softmax(x, -1)), [x]


def cross_entropy(cast, compile=False):
    made = {}

    def build(torch, c):
        def loss(x, y):
            return torch.nn.functional.cross_entropy(x.float() if cast else x, y)
        f = made.setdefault("f", torch.compile(loss)) if compile else loss
        x = real(torch, c["shape"]["tokens"], c["shape"]["classes"])
        y = torch.randint(c["shape"]["classes"], (c["shape"]["tokens"],), device="cuda")
        return (lambda: f(x, y)), [x]
    return build


def embedding(torch, c):
    s = c["shape"]
    table = real(torch, s["rows"], s["width"])
    index = torch.randint(s["rows"], (s["tokens"],), device="cuda")
    return (lambda: torch.nn.functional.embedding(index, table)), [table]


def parameters_of(torch, c):
    s = c["shape"]
    parameters = [torch.nn.Parameter(torch.randn(s["rows"], s["width"], device="cuda")) for _ in range(s["tensors"])]
    for p in parameters:
        p.grad = torch.randn_like(p)
    return parameters


def adam(torch, c):
    how = {"fused": c["how"] == "fused", "foreach": c["how"] == "foreach"}
    optimizer = torch.optim.AdamW(parameters_of(torch, c), lr=1e-5, **how)
    return optimizer.step, []


def gradient_norm(torch, c):
    parameters = parameters_of(torch, c)
    return (lambda: torch.nn.utils.get_total_norm([p.grad for p in parameters], foreach=True)), []


def accumulate(torch, c):
    s = c["shape"]
    pairs = [(torch.randn(s["rows"], s["width"], device="cuda"), real(torch, s["rows"], s["width"], grad=False)) for _ in range(s["tensors"])]

    def run():
        for a, b in pairs:
            a.add_(b)
    return run, []


def routing(torch, c):
    """Tokens by expert: the order of token-expert pairs, its inverse, and the gates."""
    s = c["shape"]
    chosen = torch.rand(s["tokens"], s["experts"], device="cuda").topk(s["top"], -1).indices.flatten()
    order = torch.argsort(chosen, stable=True)
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(order.numel(), device="cuda")
    gates = torch.rand(s["tokens"], s["top"], device="cuda", dtype=torch.bfloat16)
    return chosen, order, inverse, gates


def dispatch(torch, c):
    s = c["shape"]
    _, order, _, _ = routing(torch, c)
    tokens = order // s["top"]
    x = real(torch, s["tokens"], s["width"])
    return (lambda: x.index_select(0, tokens)), [x]


def combine_add(torch, c):
    s = c["shape"]
    _, order, _, gates = routing(torch, c)
    tokens, weights = order // s["top"], gates.flatten()[order].unsqueeze(-1)
    y = real(torch, s["tokens"] * s["top"], s["width"], grad=False)
    return (lambda: torch.zeros(s["tokens"], s["width"], device="cuda", dtype=y.dtype).index_add_(0, tokens, y * weights)), []


def combine_gather(torch, c):
    s = c["shape"]
    _, _, inverse, gates = routing(torch, c)
    y = real(torch, s["tokens"] * s["top"], s["width"])
    return (lambda: (y.index_select(0, inverse).view(s["tokens"], s["top"], s["width"]) * gates.unsqueeze(-1)).sum(1)), [y]


def router(torch, c):
    logits = torch.randn(c["shape"]["tokens"], c["shape"]["experts"], device="cuda")
    return (lambda: torch.softmax(logits, -1).topk(c["shape"]["top"], -1)), []


def sort_tokens(torch, c):
    chosen = routing(torch, c)[0]
    return (lambda: torch.argsort(chosen, stable=True)), []


def ends_of(torch, s):
    """Where each expert's rows end, in multiples of 16; skewed: shares fall as 1 to 1/3."""
    e, rows = s["experts"], s["rows"] // 16
    weights = [3.0 - 2.0 * i / max(1, e - 1) if s["skewed"] else 1.0 for i in range(e)]
    ends, total = [], 0.0
    for w in weights:
        total += w
        ends.append(16 * round(rows * total / sum(weights)))
    ends[-1] = s["rows"]
    return torch.tensor(ends, device="cuda", dtype=torch.int32)


def grouped(torch, c):
    s = c["shape"]
    x, w = real(torch, s["rows"], s["inner"], grad=False), real(torch, s["experts"], s["columns"], s["inner"], grad=False)
    ends = ends_of(torch, s)
    return (lambda: torch._grouped_mm(x, w.transpose(-2, -1), offs=ends)), []


def grouped_streams(torch, c):
    """One product an expert, on four streams in turn, as a CUDA graph: the host is never waited for."""
    s = c["shape"]
    x, w = real(torch, s["rows"], s["inner"], grad=False), real(torch, s["experts"], s["columns"], s["inner"], grad=False)
    y = torch.empty(s["rows"], s["columns"], device="cuda", dtype=x.dtype)
    ends = ends_of(torch, s).tolist()
    streams = [torch.cuda.Stream() for _ in range(4)]

    def products():
        main = torch.cuda.current_stream()
        for stream in streams:
            stream.wait_stream(main)
        for i, (a, b) in enumerate(zip([0, *ends], ends)):
            with torch.cuda.stream(streams[i % 4]):
                torch.mm(x[a:b], w[i].t(), out=y[a:b])
        for stream in streams:
            main.wait_stream(stream)

    products()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        products()
    return graph.replay, []


def grouped_input(torch, c):
    s = c["shape"]
    dy, w = real(torch, s["rows"], s["columns"], grad=False), real(torch, s["experts"], s["columns"], s["inner"], grad=False)
    ends = ends_of(torch, s)
    return (lambda: torch._grouped_mm(dy, w, offs=ends)), []


def grouped_weight(torch, c):
    s = c["shape"]
    dy, x = real(torch, s["rows"], s["columns"], grad=False), real(torch, s["rows"], s["inner"], grad=False)
    ends = ends_of(torch, s)
    return (lambda: torch._grouped_mm(dy.t(), x, offs=ends)), []


def scaled(fast=True, first="float8_e4m3fn", by_rows=False):
    def build(torch, c):
        m, n, k = (c["shape"][x] for x in "mnk")
        a = torch.randn(m, k, device="cuda").to(getattr(torch, first))
        b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn).t()
        sa = torch.ones(m, 1, device="cuda") if by_rows else torch.tensor(1.0, device="cuda")
        sb = torch.ones(1, n, device="cuda") if by_rows else torch.tensor(1.0, device="cuda")
        return (lambda: torch._scaled_mm(a, b, scale_a=sa, scale_b=sb, out_dtype=torch.bfloat16, use_fast_accum=fast)), []
    return build


def product(torch, c):
    m, n, k = (c["shape"][x] for x in "mnk")
    a, b = real(torch, m, k, grad=False), real(torch, n, k, grad=False)
    return (lambda: a @ b.t()), []


def product_fp32(torch, c):
    m, n, k = (c["shape"][x] for x in "mnk")
    a, b = real(torch, k, m, grad=False), real(torch, k, n, grad=False)  # as a weight's gradient is stored
    return (lambda: torch.mm(a.t(), b, out_dtype=torch.float32)), []


def product_add(torch, c):
    m, n, k = (c["shape"][x] for x in "mnk")
    a, b = real(torch, k, m, grad=False), real(torch, k, n, grad=False)
    y = torch.randn(m, n, device="cuda")
    return (lambda: torch.addmm(y, a.t(), b, out_dtype=torch.float32, out=y)), []


def layer_shapes(c):
    t, h, f = (c["shape"][k] for k in ("tokens", "hidden", "ffn"))
    qkv = h + 2 * 8 * 128
    return [(t, qkv, h), (t, h, h), (t, 2 * f, h), (t, h, f)]


def layer_products(torch, c):
    pairs = [(real(torch, m, k, grad=False), real(torch, n, k, grad=False)) for m, n, k in layer_shapes(c)]

    def run():
        for a, b in pairs:
            a @ b.t()
    return run, []


def layer_products_fp8(torch, c):
    runs = [scaled()(torch, {"shape": dict(zip("mnk", s))})[0] for s in layer_shapes(c)]

    def run():
        for r in runs:
            r()
    return run, []


def attention(torch, c):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    s = c["shape"]
    q = real(torch, s["samples"], s["heads"], s["sequence"], s["query_dim"])
    k = real(torch, s["samples"], s["key_heads"], s["sequence"], s["query_dim"])
    v = real(torch, s["samples"], s["key_heads"], s["sequence"], s["value_dim"])
    backend = SDPBackend.CUDNN_ATTENTION if c["how"] == "cudnn" else SDPBackend.FLASH_ATTENTION

    def run():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=s["causal"], enable_gqa=s["heads"] != s["key_heads"])
    return run, [q, k, v]


def largest(torch, x):
    return x.abs().max()


def cast(torch, x):
    return (x.float() * 0.5).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)


def column_sum(torch, x):
    return x.sum(0)


def bias_gelu(torch, x, b):
    return torch.nn.functional.gelu(x + b, approximate="tanh")


def bias_dropout_add(torch, x, r, b):
    return r + torch.nn.functional.dropout(x + b, 0.1, True)


def widened(torch, c):
    x = torch.randn(c["shape"]["rows"], c["shape"]["width"], device="cuda")
    return (lambda: x.to(torch.bfloat16)), []


def bias_add(torch, c):
    x, b = real(torch, c["shape"]["rows"], c["shape"]["width"], grad=False), real(torch, c["shape"]["width"], grad=False)
    return (lambda: x + b), []


BUILDERS = {
    "layer_norm": weighted_norm(lambda t, x, w, b: t.nn.functional.layer_norm(x, (x.shape[-1],), w, b), True),
    "rms_norm": weighted_norm(lambda t, x, w: t.nn.functional.rms_norm(x, (x.shape[-1],), w), False),
    "rms_norm_eager": weighted_norm(rms_by_hand, False),
    "rms_norm_compiled": compiled(rms_by_hand, 2, (False, True)),
    "gelu": of_rows(lambda t, x: t.nn.functional.gelu(x, approximate="tanh")),
    "swiglu": of_rows(swiglu, 2),
    "swiglu_compiled": compiled(swiglu, 2),
    "bias_gelu_compiled": compiled(bias_gelu, 2, (False, True)),
    "bias_dropout_add_compiled": compiled(bias_dropout_add, 3, (False, False, True)),
    "add": of_rows(lambda t, a, b: a + b, 2),
    "bias_add": bias_add,
    "column_sum": of_rows(column_sum),
    "dropout": of_rows(lambda t, x: t.nn.functional.dropout(x, 0.1, True)),
    "clone": of_rows(lambda t, x: x.clone()),
    "transpose": of_rows(lambda t, x: x.t().contiguous()),
    "concat": of_rows(lambda t, a, b: t.cat((a, b), -1), 2),
    "to_fp32": of_rows(lambda t, x: x.float()),
    "from_fp32": widened,
    "to_fp8": of_rows(lambda t, x: x.to(t.float8_e4m3fn)),
    "largest": of_rows(largest),
    "cast_compiled": compiled(cast, 1),
    "largest_compiled": compiled(largest, 1),
    "fill": of_rows(lambda t, x: x.zero_()),
    "rotate": rotate,
    "rotate_compiled": rotate_compiled,
    "transpose_heads": transpose_heads,
    "softmax": softmax,
    "cross_entropy_eager": cross_entropy(True),
    "cross_entropy_float": cross_entropy(False),
    "cross_entropy_compiled": cross_entropy(True, True),
    "embedding": embedding,
    "adam": adam,
    "gradient_norm": gradient_norm,
    "accumulate": accumulate,
    "dispatch": dispatch,
    "combine_add": combine_add,
    "combine_gather": combine_gather,
    "router": router,
    "sort_tokens": sort_tokens,
    "grouped": grouped,
    "grouped_streams": grouped_streams,
    "grouped_input": grouped_input,
    "grouped_weight": grouped_weight,
    "scaled_fast": scaled(),
    "scaled_split": scaled(fast=False),
    "scaled_e5m2": scaled(fast=False, first="float8_e5m2"),
    "scaled_rows": scaled(by_rows=True),
    "product": product,
    "product_fp32": product_fp32,
    "product_add": product_add,
    "layer_products": layer_products,
    "layer_products_fp8": layer_products_fp8,
    "layer_products_small": layer_products,
    "attention": attention,
}
