"""Passes that recognize attention and rotary embeddings, and fuse the layouts around attention."""
