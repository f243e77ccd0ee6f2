"""The web page of the service: its files, their headers, and its words."""
