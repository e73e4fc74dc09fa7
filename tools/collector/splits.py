"""A decoder of models.py in parts: tensor-parallel as Megatron-LM cuts it, and as stages of a pipeline under 1F1B. Plain torch.distributed,
NCCL or gloo."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Enter(torch.autograd.Function):
    """Into products that are cut by columns: the same forward, gradients added up."""

    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, dy):
        dy = dy.contiguous()
        dist.all_reduce(dy)
        return dy


class Leave(torch.autograd.Function):
    """Out of products that are cut by rows: added up forward, the same gradient."""

    @staticmethod
    def forward(_, x):
        x = x.contiguous()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(_, dy):
        return dy


class Entered(nn.Module):
    def __init__(self, before):
        super().__init__()
        self.before = before

    def forward(self, x):
        return Enter.apply(self.before(x))


class Rows(nn.Linear):
    def forward(self, x):
        return Leave.apply(F.linear(x, self.weight))


class Words(nn.Embedding):
    """This rank's part of the vocabulary; of other words zeros, before all parts are added up."""

    def forward(self, tokens):
        own = tokens - dist.get_rank() * self.num_embeddings
        inside = (own >= 0) & (own < self.num_embeddings)
        return Leave.apply(F.embedding(own.clamp(0, self.num_embeddings - 1), self.weight) * inside.unsqueeze(-1))


def split_loss(logits, labels):
    """The mean cross entropy of logits [tokens, this rank's words]."""
    words = logits.shape[-1]
    largest = logits.detach().max(-1).values
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    logits = logits - largest.unsqueeze(-1)
    own = labels - dist.get_rank() * words
    inside = (own >= 0) & (own < words)
    picked = logits.gather(-1, own.clamp(0, words - 1).unsqueeze(-1)).squeeze(-1) * inside
    return (Leave.apply(logits.exp().sum(-1)).log() - Leave.apply(picked)).mean()


def cut(module, dim, kind=None):
    """Keeps this rank's part of a weight, along 0 (columns of a product) or 1 (rows)."""
    with torch.no_grad():
        module.weight = nn.Parameter(module.weight.chunk(dist.get_world_size(), dim)[dist.get_rank()].clone())
    if kind:
        module.__class__ = kind


def split_tensors(module):
    """Cuts an untied decoder without biases among all ranks, in place."""
    parts = dist.get_world_size()
    for layer in module.layers:
        attention, mlp = layer.attention, layer.mlp
        layer.norm1, layer.norm2 = Entered(layer.norm1), Entered(layer.norm2)
        for columns in (attention.q, attention.k, attention.v, mlp.gate, mlp.up):
            cut(columns, 0)
        cut(attention.out, 1, Rows)
        cut(mlp.down, 1, Rows)
        attention.heads //= parts
        attention.kv_heads //= parts
    cut(module.token, 0, Words)
    module.token.num_embeddings //= parts
    module.norm = Entered(module.norm)
    cut(module.head, 0)
    module.cross_entropy = split_loss


def keep_stage(module):
    """Keeps this rank's layers of a decoder, in place: the first rank has the embedding, the last one the head."""
    rank, stages = dist.get_rank(), dist.get_world_size()
    layers = list(module.layers)
    begin, end = rank * len(layers) // stages, (rank + 1) * len(layers) // stages
    module.layers = nn.ModuleList(layers[begin:end])
    if rank > 0:
        module.token = None
    if rank < stages - 1:
        module.norm = module.head = None


def exchange(send=None, to=0, receive=None, source=0):
    """Sends and receives at once, so that neighbours that do both do not wait for each other. Returns what was received."""
    operations = [dist.P2POp(dist.isend, send, to)] if send is not None else []
    if receive is not None:
        operations.append(dist.P2POp(dist.irecv, receive, source))
    for request in dist.batch_isend_irecv(operations) if operations else []:
        request.wait()
    return receive


class Pipeline:
    """One step of 1F1B: forward and backward passes of all micro-batches of a stage (Narayanan et al., arXiv 2104.04473)."""

    def __init__(self, module, micro_batches, shape, device):
        self.module, self.micro_batches, self.device = module, micro_batches, device
        self.shape = shape  # of what goes from stage to stage
        self.rank, self.last = dist.get_rank(), dist.get_world_size() - 1

    def run(self, inputs):
        """inputs: (tokens, labels) of each micro-batch. Returns the loss, of the last stage alone."""
        self.left, self.begun, self.loss = iter(inputs), [], None
        ahead = min(self.last - self.rank, self.micro_batches)
        for _ in range(ahead):
            exchange(self.forward(self.from_before()), self.rank + 1)
        x = self.from_before() if ahead < self.micro_batches else None
        for i in range(ahead, self.micro_batches):
            y, dy = self.forward(x), None
            if self.rank < self.last:
                dy = exchange(y, self.rank + 1, self.empty(), self.rank + 1)
            dx = self.backward(dy)
            if self.rank > 0:
                x = exchange(dx, self.rank - 1, self.empty() if i + 1 < self.micro_batches else None, self.rank - 1)
        for _ in range(ahead):
            dx = self.backward(exchange(receive=self.empty(), source=self.rank + 1))
            if self.rank > 0:
                exchange(dx, self.rank - 1)
        return self.loss

    def empty(self):
        return torch.empty(self.shape, device=self.device)

    def from_before(self):
        return exchange(receive=self.empty(), source=self.rank - 1) if self.rank > 0 else None

    def forward(self, x):
        tokens, labels = next(self.left)
        y = self.module.run_layers(self.module.embed(tokens) if x is None else x.requires_grad_())
        if self.rank == self.last:
            y = self.module.loss(y, labels) / self.micro_batches
            self.loss = y.detach() + (0 if self.loss is None else self.loss)
        self.begun.append((x, y))
        return y.detach()

    def backward(self, dy):
        x, y = self.begun.pop(0)
        y.backward(dy)
        return None if x is None else x.grad
