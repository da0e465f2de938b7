"""The rules of the documents by id: what each one means, and where its document prints it."""
