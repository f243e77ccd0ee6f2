"""What `engines.py` measures, a file each."""
