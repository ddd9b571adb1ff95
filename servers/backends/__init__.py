"""What servers stand on: remote services behind plain functions, and the code that runs a server."""
