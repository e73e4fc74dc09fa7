"""Decoders that are cut among two ranks, by gloo on the CPU, compute what whole ones do. Skipped without a PyTorch that has fused attention."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "collector"))
import arithmetic  # noqa: E402

try:
    import torch

    HAS_TORCH = hasattr(torch.nn.functional, "scaled_dot_product_attention")
except ImportError:
    HAS_TORCH = False

TENSOR, PIPELINED = arithmetic.parallel_cases(2, tiny=True)


def whole(case):
    """(module, inputs), the same on every rank. Attention by whichever library there is."""
    import contextlib

    import models

    torch.manual_seed(0)
    torch.nn.attention.sdpa_kernel = lambda *_: contextlib.nullcontext()
    c = case["transformer"]
    module = models.Decoder(c, "flash", False)
    data = [tuple(torch.randint(c["vocabulary"], (1, c["sequence"])) for _ in range(2)) for _ in range(case["micro_batches"])]
    return module, data


def trained(case):
    """The whole decoder with gradients of the mean loss, and that."""
    module, data = whole(case)
    losses = [module(*inputs) / len(data) for inputs in data]
    sum(losses).backward()
    return module, float(sum(losses))


def in_parts(rank, case, port, failures):
    import splits

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    expected, loss = trained(case)
    module, data = whole(case)
    if case["way"] == "tensor":
        splits.split_tensors(module)
        found = module(*data[0])
        found.backward()
        pairs = [(module.head.weight.grad, expected.head.weight.grad.chunk(2, 0)[rank]), (module.token.weight.grad, expected.token.weight.grad.chunk(2, 0)[rank])]
        for own, same in zip(module.layers, expected.layers):
            pairs += [(own.attention.q.weight.grad, same.attention.q.weight.grad.chunk(2, 0)[rank]), (own.mlp.down.weight.grad, same.mlp.down.weight.grad.chunk(2, 1)[rank])]
            pairs.append((own.norm1.before.weight.grad, same.norm1.weight.grad))
    else:
        splits.keep_stage(module)
        found = splits.Pipeline(module, len(data), (1, case["transformer"]["sequence"], case["transformer"]["hidden"]), "cpu").run(data)
        half = len(expected.layers) // 2
        pairs = [(own.mlp.up.weight.grad, same.mlp.up.weight.grad) for own, same in zip(module.layers, list(expected.layers)[rank * half :])]
        pairs.append((module.token.weight.grad, expected.token.weight.grad) if rank == 0 else (module.head.weight.grad, expected.head.weight.grad))
    if found is not None and abs(float(found) / loss - 1) > 1e-5:
        failures.put(f"rank {rank}: the loss is {float(found)}, not {loss}")
    for i, (own, same) in enumerate(pairs):
        if not torch.allclose(own, same, rtol=1e-4, atol=1e-6):
            failures.put(f"rank {rank}: gradient {i} is off by {(own - same).abs().max()}")
    torch.distributed.destroy_process_group()


@unittest.skipUnless(HAS_TORCH, "no PyTorch with fused attention")
class Splits(unittest.TestCase):
    def check(self, case, port):
        import torch.multiprocessing as processes

        failures = processes.get_context("spawn").SimpleQueue()
        processes.spawn(in_parts, (case, port, failures), nprocs=2)
        self.assertTrue(failures.empty(), None if failures.empty() else failures.get())

    def test_tensor_parallel(self):
        self.check(TENSOR, 29611)

    def test_pipelined(self):
        self.check(PIPELINED, 29612)


if __name__ == "__main__":
    unittest.main()
