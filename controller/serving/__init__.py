"""An HTTP server with limits on connections and their times."""
