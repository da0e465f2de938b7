"""The rules of the documents by their ids: what each means, and where in its document it is."""
