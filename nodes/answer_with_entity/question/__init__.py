"""What a question asks for and what it is about."""
