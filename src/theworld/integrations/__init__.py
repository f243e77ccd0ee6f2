"""TheWorld as a retriever of other libraries: one thin file each over `passages`."""
