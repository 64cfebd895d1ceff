"""Score and curvature of a perceptron that stand in the graph of a loss, with their parameter gradients written out.

f(z) = wᵀh_L + b, h_i = φ(a_i), a_i = W_i h_{i−1} + b_i; on the way back g_L = w, u_i = φ′(a_i) ⊙ g_i and
g_{i−1} = W_iᵀu_i, so g_0 = ∇f, and ∂f/∂W_i = u_i h_{i−1}ᵀ.

Along a curve z + εv + ½ε²y all of these are power series in ε. With ′ for the first order, a′ = W h′, h′ = φ′a′,
u′ = φ′g′ + φ″g a′, and g_0′ = (∇²f)v: so vᵀ(∇²f)v, the *curvature*, is v·g_0′. A loss whose gradients are y with
respect to ∇f and c with respect to the curvature has the parameter gradient of y·∇f + c·vᵀ(∇²f)v, which is, c being
absorbed, the second order of ∂f/∂θ:

    h″ = φ′a″ + φ″ c a′²,   u″ = φ′g″ + φ″(2c g′a′ + g a″) + φ‴ c g a′²,   ∂/∂W = u″hᵀ + 2c u′h′ᵀ + u h″ᵀ,

from h″_0 = y, g″_L = 0; summed over directions where there are several. A gradient with respect to f itself starts
g″_L. So there is no way back through a way back: autograd, which goes it, takes longer and more memory.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from ebmbench.models.common.activations import Activation

FEW = 16  # inputs


class Jet(NamedTuple):
    """f `(B,)`, ∇f `(B, inputs)` and vᵀ(∇²f)v `(M, B)`, to be differentiated once with respect to the weights."""

    value: Tensor
    slope: Tensor
    curvature: Tensor


class Kept(NamedTuple):
    """What one layer keeps for the way back: streams `(B, n)`, and of those along directions `(M, B, n)`, if any."""

    a: Tensor
    h: Tensor  # that came in
    first: Tensor
    second: Tensor
    g: Tensor
    u: Tensor
    along: "Along | None"


class Along(NamedTuple):
    """The first order: a′, the h′ that came in, g′ and u′."""

    a: Tensor
    h: Tensor
    g: Tensor
    u: Tensor


def jet(layers: Sequence[tuple[Tensor, Tensor]], activation: Activation, z: Tensor, directions: Tensor) -> Jet:
    """At z `(B, inputs)`, a constant, along directions `(M, B, inputs)`, M = 0 for none; the last layer is the head."""
    return Jet(*_Jet.apply(activation, z, directions, *(tensor for pair in layers for tensor in pair)))


class _Jet(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, activation: Activation, z: Tensor, directions: Tensor, *flat: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        *weights, head = flat[0::2]
        *biases, head_bias = flat[1::2]
        several, up, h, h1 = len(directions) > 0, [], z, directions
        for weight, bias in zip(weights, biases, strict=True):
            a, a1 = linear(h, weight, bias), linear(h1, weight) if several else h1
            out, first, second = activation.series(a)
            up.append((weight, a, h, first, second, a1, h1))
            h, h1 = out, first * a1 if several else h1
        kept, g, g1 = [], head.expand_as(h), torch.zeros_like(h1)
        for weight, a, below, first, second, a1, below1 in reversed(up):
            u = g * first
            u1 = torch.addcmul(first * g1, second * g, a1) if several else g1
            along = Along(a1, below1, g1, u1) if several else None
            kept.append(Kept(a, below, first, second, g, u, along))
            g, g1 = _down(u, weight), u1 @ weight if several else g1
        ctx.kept, ctx.activation, ctx.last = kept[::-1], activation, h
        ctx.save_for_backward(*weights, head)  # so that weights changed in between are noticed
        ctx.set_materialize_grads(False)  # an output that the loss does not use costs nothing
        return linear(h, head, head_bias).squeeze(-1), g, (directions * g1).sum(2)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, by_value: Tensor | None, by_slope: Tensor | None, by_curvature: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        *weights, head = ctx.saved_tensors
        c = None if by_curvature is None or ctx.kept[0].along is None else by_curvature[:, :, None]
        h2, seconds = torch.zeros_like(ctx.kept[0].h) if by_slope is None else by_slope, []
        for weight, k in zip(weights, ctx.kept, strict=True):
            a2, squares = linear(h2, weight), None if c is None else (c * k.along.a.square()).sum(0)
            seconds.append((h2, a2, squares))
            h2 = k.first * a2
            h2 = h2 if squares is None else h2.addcmul_(k.second, squares)
        grads: list[Tensor | None] = [torch.zeros_like(head[0, :1]), h2.sum(0)[None]]
        g2 = None
        if by_value is not None:
            grads, g2 = [by_value.sum()[None], (h2.sum(0) + by_value @ ctx.last)[None]], by_value[:, None] * head
        for weight, k, (h2, a2, squares) in zip(*map(reversed, (weights, ctx.kept, seconds)), strict=True):
            u2, bend = None if g2 is None else g2.mul_(k.first), a2.mul_(k.g)
            by_weight = _outer(k.u, h2)
            if squares is not None:
                bend += 2 * (c * k.along.g * k.along.a).sum(0)
                u2 = _add_product(u2, ctx.activation.third(k.a) * k.g, squares)
                by_weight += 2 * _outer((c * k.along.u).flatten(0, 1), k.along.h.flatten(0, 1))
            u2 = _add_product(u2, k.second, bend)
            by_weight += _outer(u2, k.h)
            grads += [u2.sum(0), by_weight]
            g2 = u2 @ weight if k is not ctx.kept[0] else u2
        return None, None, None, *reversed(grads)


def _add_product(to: Tensor | None, a: Tensor, b: Tensor) -> Tensor:
    """`to` + a·b, in place; None is zero."""
    return a * b if to is None else to.addcmul_(a, b)


def _outer(u: Tensor, h: Tensor) -> Tensor:
    """Σ u hᵀ over events; products that give few columns are several times as fast as those that give few rows."""
    return (h.mT @ u).mT if h.shape[1] < FEW else u.mT @ h


def _down(u: Tensor, weight: Tensor) -> Tensor:
    """Wᵀu, likewise."""
    return linear(u, weight.mT.contiguous()) if weight.shape[1] < FEW else u @ weight
