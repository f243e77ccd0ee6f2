"""Search results to what a judge is shown, and a judge's reply to one judgement."""
