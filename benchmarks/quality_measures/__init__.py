"""What only the measurements of quality need: sets merged into one corpus, losses by stage, first answers."""
