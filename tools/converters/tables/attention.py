"""Kernels of attention that rows ran and profiles do not have."""

# FlashAttention-2, as shares of the peak, forward and backward. On A100 the middle of the 50 to 73 % that its paper gives; on Hopper the medians over causal
# attentions of more than 1e11 FLOPs that were measured on one H200 (profiles/tables/h200/operations.csv, 15 and 16 of them).
FLASH_2 = {"training.framework.attention": {"a100": 0.6, "h100": 0.28, "h200": 0.28},
           "training.framework.attention_gradient": {"a100": 0.6, "h100": 0.25, "h200": 0.25}}
