"""Public tables of iterations, one converter per family of tables. points.py has what they share, models.py and machines.py what names
stand for."""
