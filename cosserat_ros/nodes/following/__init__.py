"""Parts of the path follower node."""
