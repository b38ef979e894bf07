"""Blocks of rows, folds and maps over them, and who runs them: the same bits on every engine."""
