"""An HTTP server with limits on the number and duration of connections."""
