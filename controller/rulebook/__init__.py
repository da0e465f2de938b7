"""The rules of the documents by their ids: the meaning of each, and its place in its document."""
