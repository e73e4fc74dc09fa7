"""Public tables: kernels.py, collectives.py, and of iterations one converter per family of tables. points.py has what the latter share, models.py
and machines.py what names stand for."""
