"""Spans of the evidence as answers: which one stands where the question's words stand."""
