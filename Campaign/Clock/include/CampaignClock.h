// Preloaded before libfaketime into a worker whose clock jumps; see timespec_get.c.
