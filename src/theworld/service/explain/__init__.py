"""What a request did, rebuilt from the tables alone; and the same request run again."""
