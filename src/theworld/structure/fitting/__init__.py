"""Plain data fitted to what is wanted: a remedy for each mismatch, none of which invents or loses."""
