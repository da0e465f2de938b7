"""The catalogue of the documents' rules by id, with each rule's meaning and lines in its document."""
