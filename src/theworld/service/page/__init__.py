"""The web page of the service: its files, their headers, its words, and answers as HTML that may be shown."""
