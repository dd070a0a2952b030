// Preloaded into the workers; see clock.c.
