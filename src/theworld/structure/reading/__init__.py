"""Broken JSON read without losing anything: fragments, strings, marks, brackets, numbers."""
